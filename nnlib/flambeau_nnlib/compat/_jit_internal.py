"""`torch._jit_internal`: markers that libraries set on functions for TorchScript."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from importlib import import_module
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: F401, UP035  # importers look for them here

import flambeau as torch
from flambeau.futures import Future  # noqa: F401

from ..compile.jit._decorators import export, ignore, is_scripting, unused  # noqa: F401
from ..compile.jit.annotations import (  # noqa: F401
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
)

__all__: list[str] = []


class FunctionModifiers:
    """Values of the attribute `_torchscript_modifier` of functions, for example for functions that TorchScript ignores."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method to be copied to scripted modules. Without effect: scripted modules have all methods."""
    fn._torchscript_modifier = FunctionModifiers.COPY_TO_SCRIPT_WRAPPER  # type: ignore[attr-defined]
    return fn


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any], module_name: str,
    func_name: str,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that calls `if_true` or `if_false`, depending on a boolean argument."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return if_true(*args, **kwargs) if chosen else if_false(*args, **kwargs)

    if if_true.__doc__ is None and if_false.__doc__ is not None:
        fn.__doc__ = if_true.__doc__ = if_false.__doc__
    elif if_false.__doc__ is None and if_true.__doc__ is not None:
        fn.__doc__ = if_false.__doc__ = if_true.__doc__
    else:
        fn.__doc__ = if_true.__doc__
    if module_name is not None:
        fn.__module__ = module_name
    if func_name is not None:
        fn.__name__ = func_name
    return fn


_overloaded: dict[str, list[Callable[..., Any]]] = {}


def _overload(func: Callable[..., Any]) -> Callable[..., Any]:
    """Register a declaration of an overload. The function itself is defined after its declarations, under the same name."""
    _overloaded.setdefault(_qualified_name(func), []).append(func)
    return func


def _overload_method(func: Callable[..., Any]) -> Callable[..., Any]:
    """Register an overload declaration of a method."""
    return _overload(func)


def _get_fn_overloads(qual_name: str) -> list[Callable[..., Any]] | None:
    """Return the overload declarations of a function."""
    return _overloaded.get(qual_name)


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    """Return the qualified name of a function or class, including its module."""
    module = "__torch__" if obj.__module__ == "__main__" and mangle_name else obj.__module__
    return f"{module}.{obj.__name__}"


def is_tracing() -> bool:
    """Whether `torch.jit.trace` is running."""
    return torch.jit.is_tracing()


def can_compile_class(cls: type) -> bool:
    """Whether all methods of a class are written in Python."""
    methods = [getattr(cls, name, None) for name in cls.__dict__]
    return all(hasattr(method, "__code__") for method in methods if inspect.isroutine(method))


def is_optional(ann: Any) -> bool:
    """Whether an annotation is a union that includes None."""
    return typing.get_origin(ann) is Union and type(None) in typing.get_args(ann)


def is_tuple(ann: Any) -> bool:
    """Whether an annotation is a tuple type."""
    return typing.get_origin(ann) is tuple


def is_list(ann: Any) -> bool:
    """Whether an annotation is a list type."""
    return typing.get_origin(ann) is list


def is_dict(ann: Any) -> bool:
    """Whether an annotation is a dict type."""
    return typing.get_origin(ann) is dict


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'flambeau._jit_internal' has no attribute '{name}'")
    return getattr(import_module("flambeau.jit"), name)
