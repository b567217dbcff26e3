"""The handle that all `register_..._hook` functions return."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

__all__ = ["RemovableHandle"]

_next_id = itertools.count().__next__


class RemovableHandle:
    """Removes the hook for which it was returned, by `remove()` or at the end of a `with` block.

    >>> from flambeau.utils.hooks import RemovableHandle
    >>> hooks = {}
    >>> handle = RemovableHandle(hooks); hooks[handle.id] = print
    >>> handle.remove(); hooks
    {}
    """

    __module__ = "flambeau.utils.hooks"  # as in PyTorch, for files

    def __init__(self, hooks: MutableMapping[int, Any], *, extra_dict: Any = ()) -> None:
        self.id: int = _next_id()
        extra: Iterable[MutableMapping[int, Any]] = [extra_dict] if isinstance(extra_dict, MutableMapping) else extra_dict
        self._tables = [hooks, *extra]

    @property
    def hooks_dict_ref(self) -> Callable[[], MutableMapping[int, Any]]:
        """A function that returns the table of hooks, in place of PyTorch's weak reference."""
        return lambda: self._tables[0]

    def remove(self) -> None:
        for table in self._tables:
            table.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._tables[0], self.id, tuple(self._tables[1:])  # PyTorch's state

    def __setstate__(self, state: tuple[Any, ...] | dict[str, Any]) -> None:
        global _next_id
        if isinstance(state, dict):  # of flambeau 0.1
            state = (state["_tables"][0], state["id"], tuple(state["_tables"][1:]))
        hooks, self.id, extra = (*state, ())[:3]
        self._tables = [{} if hooks is None else hooks, *(extra or ())]
        _next_id = itertools.count(max(_next_id(), self.id + 1)).__next__

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
