"""`__torch_function__`: how tensor-like types and modes override operations.

A type *overrides* calls if it has a `__torch_function__`.  A call is *offered* to overrides when their `__torch_function__` is
called instead.  Calls of plain tensors never come here.  Other calls come in one of three ways:

- operations of the table through `dispatch`, because an argument is not a plain tensor, or an active mode has emptied `FAST`;
- other functions of a public namespace through the type test at the start of the wrapper that `wrappers.py` generates;
- methods and properties of a Tensor subclass through wrappers that are installed on the subclass when it is defined.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any, Final, TypeVar

from ..devices.state import state
from ..tape.fast_path import leave_fast_path, register_plain, return_to_fast_path
from ..tensors.tensor import Tensor, attach
from .operands import can_operate
from .record import Operation
from .transform_hooks import hooks

__all__ = [
    "NOT_OFFERED", "PUBLISHED", "DisableTorchFunctionSubclass", "enable_reentrant_dispatch",
    "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "offered_as",
    "redispatch_function", "wrap_torch_function",
]  # fmt: skip

C = TypeVar("C", bound=Callable[..., Any])


class _Redispatched:
    """State of a `redispatch_function` call.  The function, and the operation of its name inside it, are not offered again."""

    __slots__ = ("entered", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.entered = False  # set by the first check for overrides, which is the function's own


disabled: Final = ContextVar("torch_function_disabled", default=False)
_redispatched: ContextVar[_Redispatched | None] = ContextVar("torch_function_redispatched", default=None)
open_modes: ContextVar[tuple[Any, ...]] = ContextVar("torch_function_modes", default=())

_ORDINARY: set[type] = {Tensor, list, tuple, slice, int, float, bool, complex, str, type(None), type(...)}
DIRECT: set[type] = set(_ORDINARY)  # types that override nothing; emptied while a mode is active
_open_modes = 0


# --- modes --------------------------------------------------------------------------------------------------------


class DisableTorchFunctionSubclass:
    """Context in which tensor subclasses behave as plain tensors."""

    def __enter__(self) -> None:
        self._token = disabled.set(True)

    def __exit__(self, *exception: object) -> None:
        disabled.reset(self._token)


def watch_calls(begin: bool) -> None:
    """Start or stop offering every call to modes. Called when a mode is entered or exited."""
    global _open_modes
    _open_modes += 1 if begin else -1
    if _open_modes:
        DIRECT.clear()
    else:
        DIRECT.update(_ORDINARY)
    (leave_fast_path if begin else return_to_fast_path)()


@contextmanager
def without_innermost_mode() -> Iterator[Any]:
    """Context that returns the innermost mode and disables it, so that the mode is not offered its own calls."""
    modes = open_modes.get()
    open_modes.set(modes[:-1])
    watch_calls(False)
    try:
        yield modes[-1]
    finally:
        open_modes.set(modes)
        watch_calls(True)


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Context inside `__torch_function__` in which calls are offered to subclasses again."""
    token = disabled.set(False)
    try:
        yield
    finally:
        disabled.reset(token)


# --- which calls are overridden -----------------------------------------------------------------------------------


def _disabled_torch_function_impl(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of subclasses that override nothing: call `func`, which then returns plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def overriding(value: Any) -> bool:
    """Whether the type of the value has a `__torch_function__` that overrides calls."""
    cls = type(value)
    return cls not in _ORDINARY and _overrides(cls)


def _has_override(value: Any) -> bool:
    """Whether the value has a `__torch_function__`. Unlike `overriding`, it is also true of a class that defines one."""
    return type(value) is not Tensor and _overrides(value)


def _overrides(owner: Any) -> bool:
    method = getattr(owner, "__torch_function__", None)
    return method is not None and getattr(method, "__func__", method) is not _disabled_torch_function_impl


def should_offer(values: Iterable[Any], out: Any = None, name: str | None = None, by: Callable[[Any], bool] = overriding) -> bool:
    """Whether to offer a call of operation `name`: a mode is active, or `by(value)` is true for `out` or one of `values`."""
    current = _redispatched.get()
    if current is not None:
        is_own_call = not current.entered if name is None else name == current.name
        current.entered = True
        if is_own_call:
            return False
    if open_modes.get():
        return True
    if disabled.get():
        return False
    return any(map(by, values)) or (out is not None and by(out))


def are_direct(values: Iterable[Any]) -> bool:
    """Whether the types of all arguments, and of elements of sequences, are known not to override calls."""
    for value in values:
        cls = type(value)
        if cls not in DIRECT or ((cls is list or cls is tuple) and not DIRECT.issuperset(map(type, value))):
            return False
    return True


def may_override(values: Iterable[Any]) -> bool:
    """Whether the type of an argument, or of an element of a sequence, overrides calls. Called after a call has failed."""
    return not disabled.get() and _redispatched.get() is None and any(map(overriding, relevant(values)))


def has_tensor_parameter(params: Iterable[Any]) -> bool:
    """Whether a non-tensor parameter was given a tensor, or a type that overrides calls. Called after a call has failed."""
    return any(isinstance(param, Tensor) or overriding(param) for param in relevant(params))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether any argument (which may be a class) has its own `__torch_function__`, or a mode is active."""
    return should_offer(relevant_args, by=_has_override)


def is_tensor_like(value: Any) -> bool:
    """Whether the value is a Tensor, or has a `__torch_function__`."""
    return isinstance(value, Tensor) or hasattr(value, "__torch_function__")


# --- offering a call ----------------------------------------------------------------------------------------------


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Offer a call to the innermost mode, then to the arguments' types, subclasses before their bases.

    Raises:
        TypeError: all handlers returned NotImplemented.

    >>> def double(x):
    ...     if torch.overrides.has_torch_function((x,)):
    ...         return torch.overrides.handle_torch_function(double, (x,), x)
    ...     return 2 * x
    >>> class Word:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of a word"
    >>> double(Word())
    'double of a word'
    """
    overloaded = _overloaded(relevant_args)
    types = tuple(map(type, overloaded))
    tried = [f"mode object {mode!r}" for mode in open_modes.get()[-1:]]
    token = _redispatched.set(None)
    try:
        return _call_handlers(public_api, overloaded, types, tried, args, kwargs)
    finally:
        _redispatched.reset(token)


def _call_handlers(public_api: Any, overloaded: list[Any], types: Any, tried: list[str], args: Any, kwargs: Any) -> Any:
    if tried:
        with without_innermost_mode() as mode:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for argument in overloaded:
        result = argument.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
        tried.append(f"tensor subclass {type(argument)}")
    listed = "".join(f"\n  - {handler}" for handler in tried)
    raise TypeError(
        f"Multiple dispatch failed for '{_qualified_name(public_api)}'; all "
        f"__torch_function__ handlers returned NotImplemented:\n{listed}\n\nFor more information, try re-running "
        "with TORCH_LOGS=not_implemented"
    )


def _qualified_name(function: Any) -> str:
    """Return the qualified name of a function, starting with `torch`, for messages."""
    name = _name_of(function)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, property):
        attribute = next((name for name in vars(Tensor) if getattr(Tensor, name) is owner), "?")
        return f"torch.Tensor.{attribute}.{name}"
    if getattr(Tensor, name, None) is function:
        return f"torch.Tensor.{name}"
    module = getattr(function, "__module__", None) or ""
    return f"{module}.{name}".replace("flambeau", "torch", 1).replace("torch_nnlib", "torch", 1)


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", repr(function))


def _overloaded(values: Iterable[Any]) -> list[Any]:
    """Return one value of each type that overrides calls, subclasses before their bases."""
    overloaded: list[Any] = []
    for value in () if disabled.get() else values:
        if overriding(value) and type(value) not in map(type, overloaded):
            place = next((i for i, other in enumerate(overloaded) if issubclass(type(value), type(other))), len(overloaded))
            overloaded.insert(place, value)
    return overloaded


def relevant(args: Iterable[Any]) -> list[Any]:
    """Return the arguments, with lists and tuples replaced by their elements: the values that may be tensors."""
    candidates: list[Any] = []
    for arg in args:
        candidates += arg if isinstance(arg, (list, tuple)) else (arg,)
    return candidates


def call(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Offer a call of an operation to overrides, which receive its public function and the non-default arguments."""
    public, args, kwargs = public_call(op, tensors, params, out)
    return handle_torch_function(public, relevant([*tensors, *params, out]), *args, **kwargs)


def public_call(
    op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return the public function of an operation, and its positional and keyword arguments that are not defaults."""
    arguments = dict(zip(op.tensor_names, (tensors,) if op.variadic else tensors, strict=True))
    arguments.update(zip(op.param_names, params, strict=True))
    passed = {
        key: value
        for key, value in arguments.items()
        if key in op.tensor_names or key not in op.defaults or op.defaults[key] is not value
    }
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name in _positional(op):
        if name not in passed or kwargs:
            break
        args.append(passed.pop(name))
    kwargs.update(passed)
    if out is not None:
        kwargs["out"] = out
    kwargs.pop("workspace", None)  # a cache that the derivative rule uses
    # Inside a function called by `redispatch_function`, overrides receive the operation's function, not the public one.
    public = _published(op) if _redispatched.get() is None else op.function
    return public, tuple(args), kwargs


def _positional(op: Operation) -> list[str]:
    """Return the names of the arguments that may be passed by position."""
    return [name.split("=")[0].strip() for name in op.declaration.split("*")[0].split(",") if name.strip()]


def is_published(op: Operation) -> bool:
    """Whether the operation itself is the public function of its name."""
    return getattr(PUBLISHED.get(op.name), "__body__", None) is op.function


@functools.cache
def _published(op: Operation) -> Callable[..., Any]:
    """Return the public function with the operation's name if it has the same parameters, else the operation's function."""
    if op.own_arguments:
        return op.function
    public = PUBLISHED.get(op.name, op.function)
    names = list(inspect.signature(public).parameters)
    return public if names[: len(_positional(op))] == _positional(op) else op.function


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Compute `func` without offering it to overrides again; the operations inside it are offered as usual.

    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         with self:
    ...             return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> with Log():
    ...     x = torch.ones(2)
    ones
    """
    token = _redispatched.set(_Redispatched(_name_of(func)))
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _redispatched.reset(token)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function overridable; `dispatcher` returns those of its arguments that may be tensors.

    >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return 2 * x
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = list(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


# --- what subclasses inherit --------------------------------------------------------------------------------------


def default_torch_function(cls: Any, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Implement `Tensor.__torch_function__`: call `func` and convert the results to the subclass."""
    if not all(issubclass(cls, other) for other in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **kwargs)
    return result if func in _NOT_CONVERTED else _converted(result, cls)


def _converted(result: Any, cls: type) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)(_converted(item, cls) for item in result)
    return result


_NOT_CONVERTED = {Tensor.grad.__get__, Tensor._base.__get__}
OFFERED_DUNDERS = frozenset({
    "__array__", "__array_wrap__", "__bool__", "__complex__", "__contains__", "__deepcopy__", "__dir__", "__dlpack__",
    "__dlpack_device__", "__float__", "__format__", "__index__", "__int__", "__iter__", "__len__", "__reduce_ex__", "__repr__",
    "__reversed__",
})  # fmt: skip
OPERATORS = frozenset({  # PyTorch passes the operator to `__torch_function__`, not the function that computes it
    "__and__", "__eq__", "__floordiv__", "__iand__", "__ilshift__", "__invert__", "__ior__", "__irshift__", "__ixor__",
    "__lshift__", "__or__", "__rdiv__", "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__", "__rpow__", "__rrshift__",
    "__rshift__", "__rsub__", "__rtruediv__", "__xor__",
})  # fmt: skip
OPERATOR_METHODS = {  # PyTorch passes the method: `Tensor.add` for `a + b`
    **{f"__{name}__": name for name in ("abs", "add", "ge", "gt", "le", "lt", "matmul", "mul", "ne", "neg", "sub")},
    **{"__radd__": "add", "__rmul__": "mul", "__truediv__": "div", "__div__": "div", "__mod__": "remainder"},
    **{f"__r{name}__": f"bitwise_{name}" for name in ("and", "or", "xor")},
    **{f"__i{name}__": f"{name}_" for name in ("add", "mul", "sub", "div")},
    **{"__itruediv__": "div_", "__imod__": "remainder_"},
}
NOT_OFFERED = frozenset({"as_subclass", "grad_dtype"})


DISPATCHING: set[type] = set()  # subclasses with a `__torch_dispatch__`, which computes operations on them


def prepare_subclass(cls: type) -> None:
    """Wrap the methods and properties of a new Tensor subclass that overrides any, so that they call `__torch_function__`."""
    if cls.__torch_dispatch__ is not getattr(Tensor, "__torch_dispatch__", cls.__torch_dispatch__):  # type: ignore[attr-defined]  # a Tensor class has one
        DISPATCHING.add(cls)
        state.dispatching = True
        hooks.prepare_dispatching(cls)
        if cls.__torch_function__ is _disabled_torch_function_impl:  # type: ignore[attr-defined]  # a Tensor class has one
            return
    if cls.__torch_function__ is _disabled_torch_function_impl:  # type: ignore[attr-defined]  # a Tensor class has one
        _ORDINARY.add(cls)
        if not _open_modes:
            DIRECT.add(cls)
        register_plain(cls)
        return
    for name, member in vars(Tensor).items():
        attribute = getattr(member, "original", member)  # an active mode replaces it by a descriptor
        if not is_offered(name, attribute):
            continue
        if next(base for base in cls.__mro__ if name in vars(base)) is not Tensor:
            continue
        if isinstance(attribute, property):
            setattr(cls, name, _offered_property(attribute))
        elif isinstance(attribute, FunctionType):
            setattr(cls, name, _offered_method(attribute, name if name.startswith("__") and name not in OFFERED_DUNDERS else ""))


def is_offered(name: str, attribute: Any) -> bool:
    """Whether calls of this method of Tensor, or uses of this attribute, are offered to overrides."""
    alias = isinstance(attribute, FunctionType) and attribute.__name__ != name  # such as `__matmul__` for `matmul`
    named = name in OFFERED_DUNDERS or name in OPERATORS or name in OPERATOR_METHODS or (alias and name.startswith("__"))
    return name not in NOT_OFFERED and (named or not name.startswith("_"))


def offered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of a subclass so that its `__torch_function__` receives the calls."""
    return _offered_method(function)


def method_for_operator(function: Callable[..., Any], operator: str) -> Callable[..., Any]:
    """Return the method that `__torch_function__` receives for `operator`: `Tensor.add` for `__add__`, else `function`."""
    known: Callable[..., Any] = getattr(Tensor, OPERATOR_METHODS[operator]) if operator in OPERATOR_METHODS else function
    return known


def _offered_method(function: Callable[..., Any], operator: str = "") -> Callable[..., Any]:
    is_reflected = operator.startswith("__r") and operator != "__rshift__"

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if operator and args:
            # Python calls a reflected operator that a subclass defines before the left operand's operator. This wrapper only
            # looks like one, so it lets Python call the left operand's operator.
            if is_reflected and type(self) is not type(args[0]) and isinstance(self, type(args[0])):
                return NotImplemented
            if not can_operate(args[0]):
                return function(self, *args, **kwargs)
        if disabled.get():
            return function(self, *args, **kwargs)
        public = method_for_operator(function, operator)
        return handle_torch_function(public, relevant([self, *args, *kwargs.values()]), self, *args, **kwargs)

    return method


def _offered_property(original: property) -> property:
    def get(self: Any) -> Any:
        return original.__get__(self) if disabled.get() else handle_torch_function(original.__get__, (self,), self)

    def change(self: Any, value: Any) -> None:
        if disabled.get():
            original.__set__(self, value)
        else:
            handle_torch_function(original.__set__, (self, value), self, value)

    return property(get, None if original.fset is None else change, original.fdel, original.__doc__)


def _init_subclass(cls: type[Tensor], /, **kwargs: Any) -> None:
    super(Tensor, cls).__init_subclass__(**kwargs)
    prepare_subclass(cls)


def _torch_function(cls: type[Tensor], func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return default_torch_function(cls, func, types, args, kwargs or {})


attach(__init_subclass__=classmethod(_init_subclass), __torch_function__=classmethod(_torch_function))


# --- offering functions and operators -------------------------------------------------------------------------------

PUBLISHED: dict[str, Callable[..., Any]] = {}  # functions of the `torch` namespace, by name, as users see them


def offer_function(
    public: Callable[..., Any],
    body: Callable[..., Any],
    compute: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    out: Any,
) -> Any:
    """Offer a call of a `public` function, implemented by `body`, to overrides; without overrides, call `compute`."""
    options = kwargs if out is None else {**kwargs, "out": out}
    values = [] if public.__name__ in _TAKE_ANY_DATA else relevant([*args, *options.values()])
    if not should_offer(values, name=public.__name__):
        if state.dispatching and any(type(value) in DISPATCHING for value in values):
            return hooks.compute_on_wrappers(public.__name__, compute, args, options)
        _cache_ordinary_types(args)
        return compute(*args, **options)
    args, options = _without_defaults(body, args, options)
    spelled = getattr(body, "__spelled__", None)
    return handle_torch_function(public, values, *(spelled(*args) if spelled else args), **options)


def offered_as(spelled: Callable[..., tuple[Any, ...]]) -> Callable[[C], C]:
    """Decorate a function with several call forms: overrides receive the arguments that `spelled` returns."""

    def decorate(function: C) -> C:
        function.__dict__["__spelled__"] = spelled
        return function

    return decorate


_TAKE_ANY_DATA = ("tensor", "as_tensor", "asarray")  # offered to modes only, regardless of the type of the data


def offer_method(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Offer the call of a Tensor method to the arguments that override it."""
    method = getattr(Tensor, name)
    args, kwargs = _without_defaults(inspect.unwrap(method), args, kwargs)
    return handle_torch_function(method, relevant([*args, *kwargs.values()]), *args, **kwargs)


def offer_operand(operator: str, self: Any, other: Any) -> Any:
    """Offer an operator to its non-tensor operand; NotImplemented if the operand does not override calls."""
    if not may_override((other,)):
        return NotImplemented
    return offer_operator(OPERATOR_METHODS.get(operator, operator), (self, other), {})


def offer_operator(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `offer_method` for an operator; NotImplemented if all handlers refuse, so that Python tries the reflected operator."""
    try:
        return offer_method(name, args, kwargs)
    except TypeError:
        return NotImplemented


def _cache_ordinary_types(args: tuple[Any, ...]) -> None:
    """Cache types without overrides, such as arrays and dtypes, so that calls with them stay on the fast path."""
    for value in () if _open_modes else args:
        if not hasattr(type(value), "__torch_function__"):
            _ORDINARY.add(type(value))
            DIRECT.add(type(value))


def _without_defaults(body: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Drop arguments that are their defaults: the caller has probably not passed them."""
    parameters = inspect.signature(body).parameters
    defaults = [p.default for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(args) == len(defaults):
        while args and args[-1] is defaults[len(args) - 1]:
            args = args[:-1]
    return args, {
        name: value for name, value in kwargs.items() if name not in parameters or parameters[name].default is not value
    }


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether `func` is a method of Tensor, or the `__get__` of one of its properties."""
    return _name_of(func) == "__get__" or getattr(Tensor, _name_of(func), None) is func


def _torch_dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Implement `Tensor.__torch_dispatch__`, which overrides nothing: call the operation."""
    return func(*args, **(kwargs or {}))


attach(__torch_dispatch__=staticmethod(_torch_dispatch))
