"""Replacing functions and methods for as long as a trace goes on."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from flambeau import Tensor

from ._wrapping import wrapped_functions
from .node import map_aggregate
from .proxy import Proxy

__all__ = ["Patcher"]

T = TypeVar("T", bound="Callable[..., Any] | str")
_ABSENT = object()


class Patcher:
    """A context at whose end everything is as it was."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._visited: set[int] = set()

    def patch_global(self, names: dict[str, Any], name: str, function: Callable[..., Any]) -> None:
        """Put a function under a name of a module, unless one stands there already that a patcher has put there."""
        former = names.get(name, _ABSENT)
        if getattr(former, "__fx_already_patched", False):
            return
        function.__fx_already_patched = True  # type: ignore[attr-defined]
        names[name] = function
        self._undo.append(lambda: names.pop(name, None) if former is _ABSENT else names.update({name: former}))

    def patch_method(self, cls: type, name: str, function: Callable[..., Any]) -> None:
        """Put a method into a class."""
        former = vars(cls).get(name, _ABSENT)
        setattr(cls, name, function)
        self._undo.append(lambda: delattr(cls, name) if former is _ABSENT else setattr(cls, name, former))

    def wrap_globals(self, names: dict[str, Any], function_ids: set[int]) -> None:
        """Let the functions with these ids, under whatever name of a module, become nodes where they are given proxies."""
        if id(names) in self._visited:
            return
        self._visited.add(id(names))
        for name, value in list(names.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                self.patch_global(names, name, as_leaf(value))

    def wrap_sizes(self) -> None:
        """Let methods of tensors that are given sizes become nodes where these are proxies."""
        for name in _GIVEN_SIZES:
            self.patch_method(Tensor, name, _as_leaf_method(name, vars(Tensor)[name]))

    def wrap_registered(self) -> None:
        """Let what `wrap` was given become nodes."""
        for (_, name), names in wrapped_functions.copy().items():
            function = names[name] if name in names else getattr(builtins, name)
            self.patch_global(names, name, as_leaf(function))

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        while self._undo:
            self._undo.pop()()


_GIVEN_SIZES = (
    "__getitem__", "broadcast_to", "expand", "narrow", "new_empty", "new_full", "new_ones", "new_zeros", "repeat", "reshape",
    "tile", "unflatten", "view",
)  # fmt: skip


def _as_leaf_method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def find_proxy(*values: Any) -> Proxy | None:
    """A proxy among values, also inside tuples, lists, dicts and slices."""
    found: list[Proxy] = []

    def look(value: Any) -> None:
        if isinstance(value, Proxy):
            found.append(value)

    map_aggregate(values, look)
    return found[-1] if found else None


def as_leaf(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which becomes a node where it is given a proxy, and is not looked into."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped
