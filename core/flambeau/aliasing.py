"""What tensors that share memory have in common: a version, the views alive, and how to replay them."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._tensor import Tensor

__all__ = ["IN_CUSTOM_FUNCTION", "IN_INFERENCE_MODE", "InferenceStorage", "Storage", "memory_root", "placed"]

# How a view came about, in place of True (recorded) or False (not):
IN_CUSTOM_FUNCTION = "in a custom Function"
IN_INFERENCE_MODE = "in inference mode, though what it is a view of was not"


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
            views[:] = [each for each in views if each() is not None]
            self._prune_at = 2 * len(views) + 16

    def add_former(self, former: Tensor, view: Tensor) -> None:
        """Note a view that another one is now a view of, ahead of that one."""
        place = next((n for n, each in enumerate(self.views) if each() is view), len(self.views))
        self.views.insert(place, weakref.ref(former))

    def alive(self) -> list[Tensor]:
        """The views that are still there."""
        return [view for view in (reference() for reference in self.views) if view is not None]

    def views_of(self, tensor: Tensor) -> list[Tensor]:
        """The views that show ``tensor`` itself, and not another view of it."""
        return [each for each in self.alive() if _source_of(each) is tensor]

    def refresh_history(self, root: Tensor, except_for: Tensor) -> None:
        """After a recorded write through one view: bring the others to the root's new history."""
        from .inplace import regenerate

        for view in self.alive():
            if view is not except_for and view._view is not None and _root_of(view) is root:
                regenerate(view)

    # --- where arrays are immutable ---

    def link(self, alias: Tensor, source: Tensor) -> None:
        """Let two tensors have the same memory, though neither is a view of the other."""
        alias.__dict__["_shares"] = source
        self.add_view(alias)

    def twin(self) -> Storage:
        """A storage of the same memory with a version of its own."""
        made = Storage()
        made.views = self.views
        return made

    def replace(self, target: Tensor, array: Any) -> None:
        """Give ``target`` its new array, and replay all that shares its memory."""
        root = _put_back(target, array)
        for each in self.alive():
            if memory_root(each) is root:
                each._array = _replay(each)


class InferenceStorage(Storage):
    """That of tensors made in inference mode: all views are inference tensors too."""

    __slots__ = ()

    @classmethod
    def of(cls, tensor: Tensor) -> None:
        """Note that a new tensor was made in inference mode."""
        tensor._inference, tensor._storage = True, cls()

    def add_view(self, view: Tensor) -> None:
        view._inference = True
        super().add_view(view)


def _root_of(view: Tensor) -> Tensor:
    while view._view is not None:
        view = view._view[0]
    return view


def _source_of(tensor: Tensor) -> Tensor | None:
    """What a tensor has its memory from."""
    source: Tensor | None = tensor.__dict__.get("_shares")
    return source if source is not None or tensor._view is None else tensor._view[0]


def memory_root(tensor: Tensor) -> Tensor:
    """The tensor that one shares its memory with and that is no view of another."""
    source = _source_of(tensor)
    return tensor if source is None else memory_root(source)


def _how(view: Tensor) -> tuple[Tensor, str, tuple[Any, ...], int | None]:
    """How a view came about: its parent, the view operation, its parameters, and which of several results it is."""
    assert view._view is not None
    parent, record, params, _ = view._view
    if record is not None:
        return parent, record.name, params, None
    if not params:
        raise RuntimeError(f"the {view._kind.backend.name} backend cannot write through this view: its arrays are immutable")
    name, number, params = params
    return parent, name, params, number


def _put_back(tensor: Tensor, array: Any) -> Tensor:
    """Write a tensor's new array into what it shares memory with, and so on up to the root."""
    from .ops.view_writes import put_view

    tensor._array = array
    source = tensor.__dict__.get("_shares")
    if source is not None:
        return _put_back(source, array)
    if tensor._view is None:
        return tensor
    parent, name, params, number = _how(tensor)
    return _put_back(parent, put_view(parent._kind, parent._array, array, name, params, number))


def _replay(tensor: Tensor) -> Any:
    source = tensor.__dict__.get("_shares")
    if source is not None:
        return source._array
    parent, name, params, number = _how(tensor)
    made = parent._kind[name][0](parent._array, *params)
    return made if number is None else made[number]


def placed(tensor: Tensor) -> tuple[Tensor, int, tuple[int, ...]]:
    """The tensor, and the offset and strides of its elements in ``flat_memory``; a copy, where no strides lead to them."""
    if tensor._kind.backend.mutable or _source_of(tensor) is None:
        return tensor, tensor.storage_offset(), tensor.stride()
    from .creation import arange

    root = memory_root(tensor)
    if tensor.numel() and tensor.dtype is root.dtype:
        found = _positions(tensor)
        offset = int(found.reshape(-1)[0])
        strides = tuple([int(found.select(dim, 1).reshape(-1)[0]) - offset if length > 1 else 1
                         for dim, length in enumerate(tensor.shape)])  # fmt: skip
        every = arange(root.numel(), device="cpu")
        if bool((every.as_strided(tensor.shape, strides, offset) == found).all()):
            return tensor, offset, strides
    tensor = tensor.detach().clone()
    return tensor, 0, tensor.stride()


def _positions(tensor: Tensor) -> Tensor:
    """For each element, its place in ``flat_memory``, on the CPU."""
    from . import dtypes
    from ._tensor import wrap
    from .creation import arange
    from .devices import kind_of

    kind = kind_of(dtypes.int64, tensor.device)

    def look(each: Tensor) -> Any:
        shared = each.__dict__.get("_shares")
        if shared is not None:
            return look(shared)
        if each._view is None:
            return arange(each.numel(), device=each.device).view(each.shape)._array
        parent, name, params, number = _how(each)
        made = kind[name][0](look(parent), *params)
        return made if number is None else made[number]

    return wrap(look(tensor), kind).cpu()
