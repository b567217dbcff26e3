"""Decorators that mark functions for PyTorch's compiler, and `is_scripting`. Most marks have no effect here."""

from __future__ import annotations

import builtins
import collections
import functools
import sys
import typing
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import flambeau as torch

from ._types import container_without_elements, missing_elements

__all__ = [
    "Attribute", "Final", "annotate", "enable_onednn_fusion", "export", "ignore", "interface", "is_scripting", "isinstance",
    "onednn_fusion_enabled", "script_if_tracing", "set_fusion_strategy", "strict_fusion", "unused",
]  # fmt: skip

Final = typing.Final
Attribute = collections.namedtuple("Attribute", ["value", "type"])  # a named tuple, as in PyTorch
Attribute.__doc__ = """An attribute of a `ScriptModule` with its declared type.

Args:
    value: the value.
    type: the type.
"""

_onednn = False
_strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


Function = typing.TypeVar("Function", bound=Callable[..., Any])
# Code objects of methods that run scripted code (`_SCRIPTED`), and of functions marked with `torch.jit.ignore` (`_IGNORED`).
# `is_scripting` finds the innermost stack frame that runs one of them.
_SCRIPTED: set[CodeType] = set()
_IGNORED: set[CodeType] = set()


def enters_script(fn: Function) -> Function:
    """Mark a method of scripted functions and modules as one that runs scripted code."""
    _SCRIPTED.add(fn.__code__)
    return fn


def _leaves_script(fn: Any) -> None:
    if builtins.isinstance(getattr(fn, "__code__", None), CodeType):
        _IGNORED.add(fn.__code__)


def is_scripting() -> bool:
    """Whether scripted code is running, outside of functions marked with `torch.jit.ignore`.

    >>> @torch.jit.script
    ... def scripted():
    ...     return torch.jit.is_scripting()
    >>> is_scripting(), scripted()
    (False, True)
    """
    return runs_script(sys._getframe(1))


def runs_script(frame: FrameType | None) -> bool:
    """Whether a stack frame belongs to scripted code, or to functions that such code calls."""
    while frame is not None:
        if frame.f_code in _SCRIPTED:  # in traced code, is_scripting() is False
            return not frame.f_locals["self"]._traced
        if frame.f_code in _IGNORED:
            return False
        frame = frame.f_back
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value; the type is only informative.

    Args:
        the_type: the type.
        the_value: the value.

    >>> annotate(list[int], [])
    []
    """
    return the_value


def unwrap_optional(x: Any) -> Any:
    """Return a value that is not None; scripted code calls it to declare that an `Optional` has a value."""
    assert x is not None, "Unwrapping null optional"
    return x


def export(fn: Any) -> Any:
    """Mark a method to be compiled in addition to `forward`.

    Args:
        fn: the method.

    """
    fn._torchscript_modifier = "export"
    return fn


def unused(fn: Any) -> Any:
    """Mark a method that scripted code does not call.

    Args:
        fn: the method, or a property.
    """
    functions: tuple[Any, ...] = (fn.fget, fn.fset) if builtins.isinstance(fn, property) else (fn,)
    for function in functions:
        if function is not None:
            function._torchscript_modifier = "unused"
            _leaves_script(function)
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a method that is not compiled; a decorator with or without arguments.

    Args:
        drop: whether scripted code does not call the method.

    Raises:
        RuntimeError: `drop` is neither a function nor a bool.
    """
    if callable(drop):
        drop._torchscript_modifier = "ignore"
        _leaves_script(drop)
        return drop
    if not builtins.isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")

    def mark(fn: Any) -> Any:
        fn._torchscript_modifier = "unused" if drop else "ignore"
        _leaves_script(fn)
        return fn

    return mark


def interface(obj: type) -> type:
    """Mark a class as an interface that modules implement.

    Args:
        obj: the class.

    Raises:
        RuntimeError: `obj` is not a class, or has bases other than `object` and `nn.Module`.
    """
    if not builtins.isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    if obj.__bases__ not in ((object,), (torch.nn.Module,)):
        raise RuntimeError(
            "TorchScript interface does not support inheritance yet. Please directly inherit from 'object' or 'nn.Module'."
        )
    obj.__torch_script_interface__ = True  # type: ignore[attr-defined]
    return obj


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value has a type, including the element types of containers.

    Args:
        obj: the value.
        target_type: the type, or a tuple of types.

    >>> isinstance([1, 2], typing.List[int]), isinstance([1, "2"], typing.List[int])
    (True, False)
    """
    if builtins.isinstance(target_type, (list, set, dict)):
        raise RuntimeError("The second argument to `torch.jit.isinstance` must be a type or a tuple of types")
    name = container_without_elements(target_type)
    if name:
        raise RuntimeError(missing_elements(name))
    _warn_if_empty(obj)
    return is_instance(obj, target_type)


def _warn_if_empty(obj: Any) -> None:
    if builtins.isinstance(obj, (list, dict, tuple)) and not obj:
        warnings.warn(
            "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, List[int] would "
            "become list and therefore falsely return True for List[float] or List[str].",
            stacklevel=3,
        )


def is_instance(obj: Any, target_type: Any) -> bool:
    """Whether a value has a type, without a warning about empty containers."""
    if builtins.isinstance(target_type, tuple):
        return any(is_instance(obj, kind) for kind in target_type)
    if target_type is None or target_type is Any:
        return obj is None or target_type is Any
    origin, inside = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if origin is typing.Union or type(target_type).__name__ == "UnionType":
        return any(is_instance(obj, kind) for kind in inside)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(is_instance(key, inside[0]) and is_instance(value, inside[1]) for key, value in obj.items())
    if origin is tuple and inside[-1:] != (...,):
        return len(obj) == len(inside) and all(map(is_instance, obj, inside))
    return all(is_instance(element, inside[0]) for element in obj)


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function to be compiled when it is called in a trace; here it always runs as Python.

    Args:
        fn: the function.
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    wrapper.__original_fn = fn  # type: ignore[attr-defined]
    wrapper.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return wrapper


@contextmanager
def strict_fusion() -> Iterator[None]:
    """Context manager without effect. In PyTorch, it raises an error if operators are not fused."""
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Store the specializations for PyTorch's fuser, without effect, and return the previous setting.

    Args:
        strategy: pairs of `"STATIC"` or `"DYNAMIC"` and a number.
    """
    global _strategy
    former, _strategy = _strategy, list(strategy)
    return former


def enable_onednn_fusion(enabled: bool) -> None:
    """Store whether PyTorch fuses operators with oneDNN, without effect.

    Args:
        enabled: the setting.
    """
    global _onednn
    _onednn = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """Return the setting stored by `enable_onednn_fusion`."""
    return _onednn
