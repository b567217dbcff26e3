"""``__torch_function__``: how tensor-like types and modes take over operations.

Plain tensors never come here; a subclass that defines ``__torch_function__``, or an active ``TorchFunctionMode``, does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ._tensor import Tensor

if TYPE_CHECKING:
    from .op import Op

__all__ = ["TorchFunctionMode", "handle_torch_function", "has_torch_function", "is_tensor_like", "redispatch_function"]

_disabled = ContextVar("torch_function_disabled", default=False)
_skip_next = ContextVar("torch_function_skip_next", default=False)
_modes: ContextVar[tuple[Any, ...]] = ContextVar("torch_function_modes", default=())


class DisableTorchFunctionSubclass:
    """Inside, tensor subclasses behave as plain tensors."""

    def __enter__(self) -> None:
        self._token = _disabled.set(True)

    def __exit__(self, *exception: object) -> None:
        _disabled.reset(self._token)


class TorchFunctionMode:
    """A context inside which every operation is first offered to ``__torch_function__`` of the mode.

    >>> import flambeau as torch
    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = torch.ones(2).exp()
    ones
    exp
    """

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> Any:
        from . import op

        _modes.set((*_modes.get(), self))
        op.leave_fast_path()
        return self

    def __exit__(self, *exception: object) -> None:
        from . import op

        _modes.set(_modes.get()[:-1])
        op.return_to_fast_path()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        return cls(*args, **kwargs)


def overrides_default(value: Any) -> bool:
    """Whether the value's type has a ``__torch_function__`` other than Tensor's own."""
    cls = type(value)
    if cls is Tensor or not hasattr(cls, "__torch_function__"):
        return False
    method = cls.__torch_function__
    return method is not _disabled_torch_function and getattr(method, "__func__", method) is not _DEFAULT or (
        cls is not Tensor and isinstance(value, Tensor) and _keeps_class(cls))  # fmt: skip


def _keeps_class(cls: type[Tensor]) -> bool:
    from .op import PLAIN

    return cls not in PLAIN and cls.__torch_function__ is not _disabled_torch_function


_DEFAULT = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]


def _disabled_torch_function(*args: Any, **kwargs: Any) -> Any:
    """Set as ``__torch_function__`` of a subclass whose results shall be plain tensors."""
    return NotImplemented


def wanted(values: Iterable[Any], out: Any = None) -> bool:
    """Whether a mode, or the type of one of the values, wants to see this call."""
    if _skip_next.get():
        _skip_next.set(False)
        return False
    if _modes.get():
        return True
    if _disabled.get():
        return False
    return any(overrides_default(each) for each in values) or (out is not None and overrides_default(out))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether any of the arguments overrides ``__torch_function__``, or a mode is active."""
    return wanted(relevant_args)


def call(op: Op, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Hand an operation to the overrides, with its public arguments."""
    arguments = dict(zip(op.tensor_names, (tensors,) if op.variadic else tensors, strict=True))
    arguments.update(zip(op.param_names, params, strict=True))
    changed = {
        key: value for key, value in arguments.items()
        if key in op.tensor_names or key not in op.defaults or op.defaults[key] is not value
    }  # fmt: skip
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    positional = [name.split("=")[0].strip() for name in op.signature.split("*")[0].split(",") if name.strip()]
    for name in positional:
        if name not in changed or kwargs:
            break
        args.append(changed.pop(name))
    kwargs.update(changed)
    if out is not None:
        kwargs["out"] = out
    return handle_torch_function(op.function, tensors if out is None else (*tensors, out), *args, **kwargs)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Offer a call to the innermost mode, then to the arguments' types, subclasses first."""
    overloaded: list[Any] = []
    if not _disabled.get():
        for each in relevant_args:
            if overrides_default(each) and type(each) not in map(type, overloaded):
                position = next((i for i, other in enumerate(overloaded) if issubclass(type(each), type(other))), len(overloaded))
                overloaded.insert(position, each)
    types = tuple(map(type, overloaded))
    modes = _modes.get()
    if modes:
        from . import op

        _modes.set(modes[:-1])  # a mode does not see its own calls
        op.return_to_fast_path()
        try:
            result = modes[-1].__torch_function__(public_api, types, args, kwargs)
        finally:
            _modes.set(modes)
            op.leave_fast_path()
        if result is not NotImplemented:
            return result
    for each in overloaded:
        result = each.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if not overloaded:
        with DisableTorchFunctionSubclass():
            return public_api(*args, **kwargs)
    name = getattr(public_api, "__name__", public_api)
    raise TypeError(f"Multiple dispatch failed for 'torch.{name}'; all __torch_function__ handlers returned NotImplemented: "
                    f"{[each.__name__ for each in types]}")  # fmt: skip


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Compute ``func`` without offering it to overrides again; the operations inside it are offered as ever.

    >>> import flambeau as torch
    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         with self:
    ...             return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> with Log():
    ...     x = torch.ones(2)
    ones
    """
    token = _skip_next.set(True)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _skip_next.reset(token)


def default_torch_function(cls: Any, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """What ``Tensor.__torch_function__`` does: compute, and return instances of the subclass."""
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **kwargs)
    return _convert(result, cls)


def _convert(result: Any, cls: type) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)(_convert(each, cls) for each in result)
    return result


def is_tensor_like(value: Any) -> bool:
    """Whether the value is a Tensor, or of a type with ``__torch_function__``."""
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


is_tensor_method_or_property = functools.partial(lambda func: getattr(Tensor, getattr(func, "__name__", ""), None) is func)
