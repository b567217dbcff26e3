"""`torch.utils`: hooks, DLPack, and from packages outside of the core data loading, checkpointing and model downloads."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from ..engine.tensors.tensor import Tensor
from . import dlpack, hooks

__all__ = ["dlpack", "hooks", "set_module", "swap_tensors"]


def set_module(obj: Any, mod: Any) -> None:
    """Set the `__module__` of a function or class.  TypeError if `mod` is not a string."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange two tensors in place: values, dtype, device, class, gradient and attributes.  Both objects keep their identity.

    Args:
        t1: a tensor that no view, autograd graph or other weak reference refers to.
        t2: another such tensor.

    Raises:
        RuntimeError: one of the tensors has weak references, or their classes have different slots.

    >>> a, b = torch.zeros(2), torch.ones(3, dtype=torch.int64)
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1, 1, 1]), tensor([0., 0.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):  # views and autograd nodes refer weakly to tensors
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots: Any = copyreg._slotnames  # type: ignore[attr-defined]  # private, but PyTorch uses it also
    names = set(slots(type(t1)))
    if names != set(slots(type(t2))):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name in ("__class__", "__dict__", *names):
        first, second = getattr(t1, name, names), getattr(t2, name, names)
        for tensor, value in ((t1, second), (t2, first)):
            if value is not names:
                object.__setattr__(tensor, name, value)
            elif hasattr(tensor, name):
                object.__delattr__(tensor, name)


def __getattr__(name: str) -> Any:
    from importlib import import_module
    from importlib.util import find_spec

    if not name.startswith("__") and find_spec(f"flambeau.utils.{name}") is not None:
        return import_module(f"flambeau.utils.{name}")
    raise AttributeError(f"module 'flambeau.utils' has no attribute '{name}'")
