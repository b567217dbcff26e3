"""`torch.utils._python_dispatch`: modes that intercept every operation in a method `__torch_dispatch__`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import flambeau as torch

from ..engine.calls.overriding import DISPATCHING, open_modes, relevant, watch_calls, without_innermost_mode
from ..engine.calls.schema import FunctionSchema
from ..engine.devices.aliases import private_names
from ..extension import Kind, facts_of, names
from ..extension.schemas import namespace_of, schemas
from ..layouts.subclasses.wrappers import call_torch_dispatch
from ..overrides import TorchFunctionMode
from .contractions import DECOMPOSITIONS
from .ops import OpOverload, operator_of

__all__ = [
    "TorchDispatchMode",
    "current_dispatch_mode",
    "disable_modes",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "pop_mode",
    "return_and_correct_aliasing",
]


__getattr__: Callable[[str], Any] = private_names(__name__)


class TorchDispatchMode(TorchFunctionMode):
    """A context that calls the method `__torch_dispatch__` for each operation, with an operator of `torch.ops.aten`.

    PyTorch decomposes functions into operators before it calls the method.  In flambeau, the mode receives `convolution`, `mm`,
    `addmm`, `bmm`, `mv` and `dot` as in PyTorch, because tools count them; each other called function is one operator.
    Backward passes are not intercepted.

    >>> from flambeau.library.dispatch_modes import TorchDispatchMode
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = torch.ones(2).exp()
    aten.ones.default
    aten.exp.default
    """

    @functools.cached_property
    def sees_methods(self) -> bool | frozenset[str]:  # type: ignore[override]  # computed when first needed
        """The methods that are operators of ATen, but not questions about the tensor such as `is_complex`."""
        operators = (name for name in names() - names(kind=Kind.QUERY) if namespace_of(name) == "aten")
        return frozenset(operators) | {"__matmul__", "__rmatmul__"}

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_dispatch__")

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        kwargs = kwargs or {}
        if name in ("__get__", "__set__"):
            return func(*args, **kwargs)
        decomposed = _decomposition(func, name)
        if decomposed is not None and not any(type(value) in DISPATCHING for value in relevant([*args, *kwargs.values()])):
            with _active(self):
                return decomposed(*args, **kwargs)
        schema = _factory_schema(name)
        if schema is None:
            return self._compute(_as_operator(func, name, args, kwargs), args, kwargs)
        args, kwargs, requires_grad = _factory_arguments(schema, args, kwargs)
        result = self._compute(_as_operator(func, name, args, kwargs), args, kwargs)
        return result.requires_grad_() if requires_grad else result

    def _compute(self, operator: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `__torch_dispatch__` of this mode; if it returns NotImplemented, that of the next mode or of the arguments."""
        types = tuple({type(value): None for value in relevant([*args, *kwargs.values()]) if type(value) in DISPATCHING})
        result = self.__torch_dispatch__(operator, types, args, kwargs)
        if result is not NotImplemented:
            return result
        if open_modes.get():
            return operator(*args, **kwargs)
        with self:
            return call_torch_dispatch(operator, args, kwargs)


@contextmanager
def _active(mode: TorchDispatchMode) -> Iterator[None]:
    """Activate a mode inside a `with` block, without an `__enter__` of its subclass, which may reset counters."""
    TorchFunctionMode.__enter__(mode)
    try:
        yield
    finally:
        TorchFunctionMode.__exit__(mode, None, None, None)


def _decomposition(func: Any, name: str) -> Callable[..., Any] | None:
    """Return a function that computes `func` by the operators that PyTorch uses for it, or None if `func` is an operator."""
    if isinstance(func, OpOverload):
        return None
    if name == "__rmatmul__":
        return lambda input, other: DECOMPOSITIONS["matmul"](other, input)
    if name == "multi_head_attention_forward":
        return func.__wrapped__  # type: ignore[no-any-return]  # the body, which calls `linear` and others
    return DECOMPOSITIONS.get(name.strip("_"))


@functools.cache
def _factory_schema(name: str) -> FunctionSchema | None:
    """Return the schema of a function that creates a tensor, which takes `pin_memory`; None for other functions."""
    declared = schemas(name) if facts_of(name) is not None else ()
    creates = declared and all(any(argument.name == "pin_memory" for argument in schema.arguments) for schema in declared)
    return declared[0] if creates else None


def _factory_arguments(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any], bool]:
    """Return the arguments of a factory function as its operator receives them, and whether the result requires grad.

    Sizes are a list, and the device and `pin_memory` are always passed.
    """
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    first = int(positional[0].is_tensor)  # `self` comes before the sizes
    if len(args) > first and isinstance(args[first], int) and positional[first].type.lower().endswith("int[]"):
        args = (*args[:first], args[first:])
    args = tuple(list(value) if isinstance(value, tuple) else value for value in args)
    kwargs = {key: value for key, value in kwargs.items() if value is not None}
    requires_grad = kwargs.pop("requires_grad", False)
    if not first or "device" in kwargs:
        kwargs["device"] = torch.device(kwargs.pop("device", None) or torch.get_default_device())
    return args, {**kwargs, "pin_memory": kwargs.get("pin_memory", False)}, requires_grad


def _as_operator(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Return the operator of `torch.ops.aten` for a function and its arguments."""
    if isinstance(func, OpOverload):
        return func
    plain = name.strip("_") if name.startswith("__") else name
    return operator_of(plain, func, args, kwargs)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether `t` is an instance of a Tensor subclass that defines `__tensor_flatten__` and `__tensor_unflatten__`."""
    return isinstance(t, torch.Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether `t` is a subclass of Tensor that defines `__tensor_flatten__` and `__tensor_unflatten__`."""
    return t is not torch.Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return `args[0]` for an in-place operator, whose name ends in "_", and `out` for all others."""
    name = getattr(func, "__name__", "").partition(".")[0]
    return args[0] if name.endswith("_") and not name.endswith("__") else out


def current_dispatch_mode() -> TorchDispatchMode | None:
    """Return the innermost TorchDispatchMode that is active, or None."""
    return next((mode for mode in reversed(open_modes.get()) if isinstance(mode, TorchDispatchMode)), None)


@contextmanager
def pop_mode() -> Iterator[TorchDispatchMode]:
    """Suspend the innermost mode inside a `with` block, and yield it.  AssertionError if it is not a TorchDispatchMode."""
    modes = open_modes.get()
    if not modes or not isinstance(modes[-1], TorchDispatchMode):
        raise AssertionError("the innermost mode must be a TorchDispatchMode")
    with without_innermost_mode() as mode:
        yield mode


@contextmanager
def disable_modes() -> Iterator[None]:
    """Disable all TorchFunctionModes and TorchDispatchModes inside a `with` block."""
    modes = open_modes.get()
    token = open_modes.set(())
    for _ in modes:
        watch_calls(False)
    try:
        yield
    finally:
        for _ in modes:
            watch_calls(True)
        open_modes.reset(token)
