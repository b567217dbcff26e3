"""Dispatch keys of PyTorch, and questions about its dispatcher.  flambeau dispatches by Python types; the keys are names."""

from __future__ import annotations

from enum import Enum
from typing import Any

import flambeau as torch

__all__ = [
    "DispatchKey", "DispatchKeySet", "_dispatch_dump", "_dispatch_has_kernel_for_dispatch_key", "_dispatch_key_for_device",
]  # fmt: skip

_BACKENDS = ("CPU", "CUDA", "Meta", "MPS", "XPU", "HPU", "MTIA", "IPU", "VE", "PrivateUse1")
_OTHERS = (
    "Undefined", "Sparse", "SparseCsr", "QuantizedCPU", "BackendSelect", "Python", "PythonDispatcher", "Functionalize",
    "ADInplaceOrView", "AutocastCPU", "AutocastCUDA", "FuncTorchBatched", "Autograd", "CompositeImplicitAutograd",
    "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional",
)  # fmt: skip
DispatchKey = Enum("DispatchKey", [*_BACKENDS, *_OTHERS, *(f"Autograd{name}" for name in _BACKENDS)])  # type: ignore[misc]


class DispatchKeySet:
    """A set of dispatch keys."""

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether the set contains a key."""
        return key in self._keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set with a key added."""
        return DispatchKeySet(*self._keys, key)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(key.name for key in self._keys))})"


def _dispatch_key_for_device(device_type: str) -> str:
    """Return the name of the dispatch key of a device type, such as "CUDA".  RuntimeError if the type is unknown."""
    torch.device(device_type)
    return next((name for name in _BACKENDS if name.lower() == device_type), "PrivateUse1")


def _packet(name: str) -> Any:
    """Return the operator called `namespace::name` or `namespace::name.overload`, or None."""
    namespace, _, operator = name.partition("::")
    return getattr(getattr(torch.ops, namespace), operator.partition(".")[0], None)


def _dispatch_has_kernel_for_dispatch_key(name: str, dispatch: Any) -> bool:
    """Whether an operator exists and computes on the devices of a dispatch key; all operators do on the CPU and on `meta`."""
    return getattr(dispatch, "name", dispatch) in ("CPU", "CUDA", "Meta") and _packet(name) is not None


def _dispatch_dump(name: str) -> str:
    """Return the name and the schemas of an operator as text."""
    packet = _packet(name)
    schemas = [getattr(packet, form)._schema_object for form in packet.overloads()] if packet is not None else []
    return "\n".join([f"name: {name}", *(f"schema: {schema}" for schema in schemas if schema is not None)]) + "\n"
