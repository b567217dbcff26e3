"""Replace functions and methods while a trace is running."""

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
    """Context manager that undoes its patches when it exits."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._visited: set[int] = set()

    def patch_global(self, names: dict[str, Any], name: str, function: Callable[..., Any]) -> None:
        """Replace a global of a module, unless it is already patched."""
        former = names.get(name, _ABSENT)
        if getattr(former, "__fx_already_patched", False):
            return
        function.__fx_already_patched = True  # type: ignore[attr-defined]
        names[name] = function
        self._undo.append(lambda: names.pop(name, None) if former is _ABSENT else names.update({name: former}))

    def patch_method(self, cls: type, name: str, function: Callable[..., Any]) -> None:
        """Replace a method of a class."""
        former = vars(cls).get(name, _ABSENT)
        setattr(cls, name, function)
        self._undo.append(lambda: delattr(cls, name) if former is _ABSENT else setattr(cls, name, former))

    def wrap_globals(self, names: dict[str, Any], function_ids: set[int]) -> None:
        """Wrap all globals of a module that are functions with the given ids, so that calls with proxies become nodes."""
        if id(names) in self._visited:
            return
        self._visited.add(id(names))
        for name, value in list(names.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                self.patch_global(names, name, as_leaf(value))

    def wrap_sizes(self) -> None:
        """Wrap tensor methods that take sizes, so that calls with proxies as sizes become nodes."""
        for name in _GIVEN_SIZES:
            self.patch_method(Tensor, name, _as_leaf_method(name, vars(Tensor)[name]))

    def wrap_registered(self) -> None:
        """Wrap the functions registered with `torch.fx.wrap`, so that calls with proxies become nodes."""
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
    """Return a proxy that the values contain, also inside tuples, lists, dicts and slices; None if there is no proxy."""
    found: list[Proxy] = []

    def look(value: Any) -> None:
        if isinstance(value, Proxy):
            found.append(value)

    map_aggregate(values, look)
    return found[-1] if found else None


def as_leaf(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that a call with proxies becomes a node, instead of being traced into."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped
