"""`torch.overrides`: the functions that `__torch_function__` can override, and their names.

`engine/calls/overriding.py` calls the overrides.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType, MethodType
from typing import Any

import flambeau as torch

from .engine.calls.facts import Kind, declared, names
from .engine.calls.function_modes import TorchFunctionMode
from .engine.calls.overriding import (
    NOT_OFFERED,
    PUBLISHED,
    DisableTorchFunctionSubclass,
    enable_reentrant_dispatch,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    is_tensor_method_or_property,
    redispatch_function,
    wrap_torch_function,
)
from .engine.calls.tables import PUBLIC
from .engine.devices.aliases import private_names
from .engine.tensors.tensor import Tensor

__all__ = [
    "DisableTorchFunctionSubclass", "TorchFunctionMode", "enable_reentrant_dispatch", "get_ignored_functions",
    "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function", "is_tensor_like",
    "is_tensor_method_or_property", "redispatch_function", "resolve_name", "wrap_torch_function",
]  # fmt: skip


__getattr__: Callable[[str], Any] = private_names(__name__)


def has_torch_function_unary(value: Any) -> bool:
    """Whether the type of `value` defines `__torch_function__`."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Whether the type of any value defines `__torch_function__`."""
    return has_torch_function(values)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A `TorchFunctionMode` that calls each function without changes."""


@functools.cache
def _overridable_names() -> dict[Any, str]:
    """Return {function, method or property getter: qualified name such as "torch.Tensor.add_"} of all overridable ones."""
    names: dict[Any, str] = {}
    for space, namespace in _namespaces():
        for name in getattr(namespace, "__all__", None) or PUBLISHED:
            function = getattr(namespace, name, None)
            if _is_function(function) and (namespace is not torch or name in PUBLIC or hasattr(function, "__body__")):
                names.setdefault(function, f"{space}.{name}")
    for name, attribute in vars(torch.Tensor).items():
        if name in NOT_OFFERED:
            continue
        attribute = getattr(attribute, "original", attribute)  # an active mode may have replaced the function by a wrapper
        if isinstance(attribute, property):
            names.setdefault(attribute.__get__, f"torch.Tensor.{name}.__get__")
        elif isinstance(attribute, FunctionType) and (not name.startswith("_") or name.startswith("__")):
            names.setdefault(attribute, f"torch.Tensor.{name}")
    return names


def _is_function(value: Any) -> bool:
    """Whether `value` is a function.  Some functions that are compiled code in PyTorch are bound methods in flambeau."""
    return isinstance(value, (FunctionType, MethodType))


def _namespaces() -> list[tuple[str, Any]]:
    return [
        ("torch", torch),
        ("torch.nn.functional", torch.nn.functional),
        ("torch.linalg", torch.linalg),
        ("torch.fft", torch.fft),
        ("torch.special", torch.special),
    ]


def resolve_name(f: Any) -> str | None:
    """Return the qualified name of an overridable function, or None if `__torch_function__` never receives `f`.

    >>> torch.overrides.resolve_name(torch.Tensor.add_)
    'torch.Tensor.add_'
    """
    return _overridable_names().get(f)


_NO_TENSORS = frozenset({Kind.FACTORY, Kind.RANDOM})  # functions of these kinds take sizes and numbers, not tensors
_IGNORED = """
    as_strided device dtype enable_grad fill finfo iinfo inference_mode is_grad_enabled is_inference_mode_enabled layout load
    memory_format no_grad promote_types qscheme save set_grad_enabled vander vmap
    Tensor.__delitem__ Tensor.__hash__ Tensor.__iter__ Tensor.__new__ Tensor.as_subclass Tensor.reinforce Tensor.stride
    Tensor.unflatten
    nn.functional.grouped_mm nn.functional.scaled_grouped_mm nn.functional.scaled_mm
    nn.functional.hardsigmoid nn.functional.hardswish nn.functional.sigmoid nn.functional.tanh
    nn.functional.upsample nn.functional.upsample_bilinear nn.functional.upsample_nearest
""".split()  # noqa: SIM905 (shorter than a list)  # PyTorch does not list these, although modes receive some of them


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return {namespace or class: overridable functions in it}."""
    spaces = dict(_namespaces())
    spaces["torch.Tensor"] = Tensor
    functions: dict[Any, list[Callable[..., Any]]] = {space: [] for space in spaces.values()}
    for function, name in _listed_names().items():
        space = name.removesuffix(".__get__").rpartition(".")[0]
        functions[spaces[space]].append(function)
    return functions


def _listed_names() -> dict[Any, str]:
    """Return the overridable functions that PyTorch lists.

    It omits ignored functions, and in-place functions that are not methods of Tensor.
    """
    ignored = get_ignored_functions()
    return {
        function: name
        for function, name in _overridable_names().items()
        if function not in ignored and (name.startswith("torch.Tensor.") or not name.endswith("_"))
    }


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the public functions that cannot be overridden, because they take no tensors or only inspect them."""
    public: set[Any] = {f for name in torch.__all__ if _is_function(f := getattr(torch, name))}
    public |= {f for name, f in vars(torch.nn.init).items() if _is_function(f) and not name.endswith("_") and name[0] != "_"}
    named: set[Any] = {functools.reduce(getattr, path.split("."), torch) for path in _IGNORED}
    factories: set[Any] = {getattr(torch, name) for name in names(kind=_NO_TENSORS) & PUBLIC.keys()}
    factories |= {getattr(torch, name) for name in (names(kind=Kind.QUERY) & PUBLIC.keys()) - vars(Tensor).keys()}
    factories |= {getattr(torch.fft, name) for name in torch.fft.__all__ if name.endswith("freq")}
    removed = {name for name, home in declared("home").items() if home == "torch._linalg_utils"}
    methods: set[Any] = {
        method for name, method in vars(Tensor).items() if name in removed or name.startswith(("new", "to_sparse_"))
    }
    return (public - set(_overridable_names())) | named | factories | methods


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return {overridable function: a function with the same signature that returns -1}."""
    return {function: _minus_one(function) for function in _listed_names()}


def _minus_one(function: Callable[..., Any]) -> Callable[..., Any]:
    def override(*args: Any, **kwargs: Any) -> int:
        return -1

    with suppress(ValueError):  # raised for the getter of a property, which has no signature
        override.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # functions accept attributes
    return override
