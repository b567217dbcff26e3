"""What tensors that share memory have in common, and the one-dimensional faces of that memory."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._tensor import Tensor

__all__ = ["Storage"]


class Storage:
    """Shared by a tensor and its views: a version that counts in-place writes, and the views alive, oldest first.

    Made when a tensor is first viewed, saved as an output, or written to.
    """

    __slots__ = ("_prune_at", "version", "views")

    def __init__(self) -> None:
        self.version = 0
        self.views: list[weakref.ref[Tensor]] = []
        self._prune_at = 16

    def add_view(self, view: Tensor) -> None:
        views = self.views
        views.append(weakref.ref(view))
        if len(views) > self._prune_at:
            self.views = [each for each in views if each() is not None]
            self._prune_at = 2 * len(self.views) + 16

    def refresh_history(self, root: Tensor, except_for: Tensor) -> None:
        """After a recorded write through one view: bring the others to the root's new history."""
        from .inplace import regenerate

        for reference in list(self.views):
            view = reference()
            if view is not None and view is not except_for and view._view is not None and _root_of(view) is root:
                regenerate(view)

    def replace(self, target: Tensor, array: Any) -> None:
        """Where arrays are immutable: give ``target`` its new array, and replay all views of the memory."""
        root = _put_back(target, array)
        for reference in self.views:
            view = reference()
            if view is not None and view._view is not None and _root_of(view) is root:
                parent, record, params, _ = view._view
                view._array = _replay(parent, record, params, view)


def _root_of(view: Tensor) -> Tensor:
    while view._view is not None:
        view = view._view[0]
    return view


def _put_back(view: Tensor, array: Any) -> Tensor:
    """Write an immutable view's new array into its parent, and so on up to the root."""
    view._array = array
    if view._view is None:
        return view
    parent, record, params, _ = view._view
    return _put_back(parent, parent._kind.F.view_scatter(parent._array, array, record.name, params))


def _replay(parent: Tensor, record: Any, params: tuple[Any, ...], view: Tensor) -> Any:
    return parent._kind[record.name][0](parent._array, *params)
