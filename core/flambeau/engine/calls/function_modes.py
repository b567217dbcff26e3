"""`TorchFunctionMode`: modes that receive every call of functions, and of the methods and attributes of Tensor.

A method that is not in the table of operations, such as `norm`, or an attribute, such as `shape`, is a plain Python function or
property without a check for overrides.  While a mode that receives it is active, a descriptor replaces it in the class, and
passes every use on an instance to the mode.  The lookup on the class, `Tensor.norm`, still returns the original function.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any

from ..tensors.tensor import Tensor
from ..values.forking import new_lock
from . import overriding
from .operands import can_operate
from .overriding import open_modes, watch_calls
from .tables import OPS

__all__ = ["TorchFunctionMode"]


class TorchFunctionMode:
    """Context in which every call of a function or operator is first passed to the mode's `__torch_function__`.

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

    sees_methods: bool | frozenset[str] = True
    """Which composite methods and attributes the mode receives: all (True), none (False), or a set of names.  For the others, it
    receives the operations inside them."""

    def __enter__(self) -> Any:
        open_modes.set((*open_modes.get(), self))
        watch_calls(True)
        _begin(self.sees_methods)
        return self

    def __exit__(self, *exception: object) -> None:
        open_modes.set(open_modes.get()[:-1])
        watch_calls(False)
        _end(self.sees_methods)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        return cls(*args, **kwargs)


class Offered:
    """Descriptor that replaces a method of Tensor, and passes each call to a `__torch_function__` that overrides it."""

    public: Any
    name: str
    original: Any  # a function, or a method in PyTorch programs

    def __init__(self, function: FunctionType, public: Any, name: str) -> None:
        self.public, self.name, self.original = public, name, function
        self.is_operator: bool = name.startswith("__") and name not in overriding.OFFERED_DUNDERS

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.original if instance is None else MethodType(self.call, instance)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_operator and len(args) == 2 and not can_operate(args[1]):
            return self.original(*args, **kwargs)  # returns NotImplemented: Python tries the other operand
        return _offer(self.public, self.name, self.original, args, kwargs)


class OfferedProperty:
    """Descriptor that replaces a property of Tensor, and passes each use to a `__torch_function__` that overrides it."""

    def __init__(self, original: property) -> None:
        self.original = original

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self.original
        return _offer(self.original.__get__, "__get__", self.original.__get__, (instance,), {})

    def __set__(self, instance: Any, value: Any) -> None:
        _offer(self.original.__set__, "__set__", self.original.__set__, (instance, value), {})

    def __delete__(self, instance: Any) -> None:
        self.original.__delete__(instance)


def _offer(public: Any, name: str, compute: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the `__torch_function__` of a mode or an argument, if any overrides the call; else compute the call."""
    relevant = overriding.relevant([*args, *kwargs.values()])
    if not overriding.should_offer(relevant, name=name):
        return compute(*args, **kwargs)
    offered = ForOuterModes(public, name, compute) if len(open_modes.get()) > 1 else public
    return overriding.handle_torch_function(offered, relevant, *args, **kwargs)


class ForOuterModes:
    """The method that the innermost of several modes receives.  It equals the original; a call goes to the next outer mode."""

    public: Any
    __name__: str
    compute: Callable[..., Any]

    def __init__(self, public: Any, name: str, compute: Callable[..., Any]) -> None:
        self.public, self.__name__, self.compute = public, name, compute
        self.__wrapped__ = public

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _offer(self.public, self.__name__, self.compute, args, kwargs)

    def __eq__(self, other: object) -> bool:
        return other is self.public or (isinstance(other, ForOuterModes) and other.public is self.public)

    def __hash__(self) -> int:
        return hash(self.public)


_open: Counter[bool | frozenset[str]] = Counter()  # for each value of `sees_methods`: the number of active modes in all threads
_lock = new_lock()


def _begin(seen: bool | frozenset[str]) -> None:
    """Install the descriptors for all attributes (`seen` is True) or the names in `seen`; the last `_end` removes them."""
    with _lock:
        _open[seen] += 1
        if _open[seen] == 1:
            for attribute, offered in _replacements(seen):
                if vars(Tensor).get(attribute) is offered.original:  # skip an attribute that the program has replaced
                    setattr(Tensor, attribute, offered)


def _end(seen: bool | frozenset[str]) -> None:
    with _lock:
        _open[seen] -= 1
        if _open[seen]:
            return
        still_seen = {attribute for names, count in _open.items() if count for attribute, _ in _replacements(names)}
        for attribute, offered in _replacements(seen):
            if attribute not in still_seen and vars(Tensor).get(attribute) is offered:
                setattr(Tensor, attribute, offered.original)


def _replacements(seen: bool | frozenset[str]) -> Iterator[tuple[str, Offered | OfferedProperty]]:
    """Yield the names of the attributes that modes receive, with the descriptors that replace them."""
    for attribute, offered in _descriptors().items() if seen else ():
        if seen is True or attribute in seen:  # type: ignore[operator]  # a set, unless it is True
            yield attribute, offered


@functools.cache
def _descriptors() -> dict[str, Offered | OfferedProperty]:
    """Return the descriptors for all methods that are not operations and for all properties, by attribute name."""
    by_dispatch = {record.function for record in OPS.values()}
    descriptors: dict[str, Offered | OfferedProperty] = {}
    for name, attribute in vars(Tensor).items():
        if not overriding.is_offered(name, attribute):
            continue
        if isinstance(attribute, property):
            descriptors[name] = OfferedProperty(attribute)
        elif isinstance(attribute, FunctionType) and attribute not in by_dispatch:
            shown = overriding.OPERATOR_METHODS.get(name, attribute.__name__)
            known_as = vars(Tensor).get(shown)
            public = known_as if isinstance(known_as, FunctionType) else attribute
            descriptors[name] = Offered(attribute, public, shown)
    return descriptors
