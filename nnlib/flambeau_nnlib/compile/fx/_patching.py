"""Replace functions and methods while a trace is running."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from flambeau import Tensor

from ._wrapping import wrapped_functions
from .node import map_aggregate
from .proxy import Proxy

__all__ = [
    "Patcher", "autowrap_globals", "find_proxy", "wrap_function", "wrap_registered_functions", "wrap_registered_methods",
    "wrapped_methods",
]  # fmt: skip

T = TypeVar("T", bound="Callable[..., Any] | str")
_ABSENT = object()


class _Patch(NamedTuple):
    """A replaced global of a module or method of a class."""

    owner: dict[str, Any] | type
    name: str
    former: Any  # or _ABSENT
    function: Callable[..., Any]

    def patch(self) -> None:
        self._set(self.function)

    def revert(self) -> None:
        self._set(self.former)

    def _set(self, value: Any) -> None:
        if isinstance(self.owner, type):
            delattr(self.owner, self.name) if value is _ABSENT else setattr(self.owner, self.name, value)
        elif value is _ABSENT:
            self.owner.pop(self.name, None)
        else:
            self.owner[self.name] = value


class Patcher:
    """Context manager that undoes its patches when it exits. PyTorch's `torch.fx._symbolic_trace._Patcher`."""

    def __init__(self) -> None:
        self.patches_made: list[_Patch] = []
        self.visited: set[int] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Replace a global of a module.

        Args:
            frame_dict: the globals of the module.
            name: the name of the global, or of a builtin.
            new_fn: the function to replace it with.
            deduplicate: ignored, as in PyTorch: a global can be replaced several times.
        """
        self._add(_Patch(frame_dict, name, frame_dict.get(name, _ABSENT), new_fn))

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Replace a method of a class; see `patch`."""
        self._add(_Patch(cls, name, vars(cls).get(name, _ABSENT), new_fn))

    def _add(self, patch: _Patch) -> None:
        self.patches_made.append(patch)
        patch.patch()

    def visit_once(self, thing: Any) -> bool:
        """Whether this is the first call with an object."""
        if id(thing) in self.visited:
            return False
        self.visited.add(id(thing))
        return True

    def revert_all_patches(self) -> list[_Patch]:
        """Undo the patches, so that `reapply_all_patches` can make them again. Return them."""
        for patch in reversed(self.patches_made):
            patch.revert()
        return self.patches_made

    def reapply_all_patches(self) -> list[_Patch]:
        """Make the patches that `revert_all_patches` undid. Return them."""
        for patch in self.patches_made:
            patch.patch()
        return self.patches_made

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.revert_all_patches()
        self.patches_made.clear()
        self.visited.clear()


def autowrap_globals(patcher: Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Wrap all globals of a module that are functions with the given ids, so that calls with proxies become nodes."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, wrap_function(value))


def wrap_registered_functions(patcher: Patcher) -> None:
    """Wrap the functions registered with `torch.fx.wrap`, so that calls with proxies become nodes."""
    for (_, name), names in wrapped_functions.copy().items():
        function = names[name] if name in names else getattr(builtins, name)
        patcher.patch(names, name, wrap_function(function))


def wrap_registered_methods(patcher: Patcher) -> None:
    """Wrap the methods in `wrapped_methods`, so that calls with proxies become nodes."""
    for cls, name in wrapped_methods:
        patcher.patch_method(cls, name, _wrap_method(name, inspect.getattr_static(cls, name)))


_GIVEN_SIZES = (
    "__getitem__", "broadcast_to", "expand", "narrow", "new_empty", "new_full", "new_ones", "new_zeros", "repeat", "reshape",
    "tile", "unflatten", "view",
)  # fmt: skip
wrapped_methods: list[tuple[type, str]] = [(Tensor, name) for name in _GIVEN_SIZES]  # sizes may be proxies


def _wrap_method(name: str, method: Any) -> Callable[..., Any]:
    @functools.wraps(method)
    def wrapped(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(tensor, args, kwargs)
        if proxy is None:  # while a `TorchFunctionMode` is active, `method` is a descriptor that cannot be called itself
            return method.__get__(tensor, type(tensor))(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, (tensor, *args), kwargs)

    return wrapped


def find_proxy(*values: Any) -> Proxy | None:
    """Return a proxy that the values contain, also inside tuples, lists, dicts and slices; None if there is no proxy."""
    found: list[Proxy] = []

    def look(value: Any) -> None:
        if isinstance(value, Proxy):
            found.append(value)

    map_aggregate(values, look)
    return found[-1] if found else None


def wrap_function(function: Callable[..., Any]) -> Callable[..., Any]:
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
