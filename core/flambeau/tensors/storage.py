"""What tensors that share memory have in common."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = [
    "IN_CUSTOM_FUNCTION", "IN_INFERENCE_MODE", "InferenceStorage", "Storage", "StorageBase",
    "how_viewed", "memory_root", "root_of", "source_of",
]  # fmt: skip

# How a view came about, in place of True (recorded) or False (not):
IN_CUSTOM_FUNCTION = "in a custom Function"
IN_INFERENCE_MODE = "in inference mode, though what it is a view of was not"


class Storage:
    """Shared by a tensor and its views: a version that counts in-place writes, and the views alive, oldest first.

    Made when a tensor is first viewed, saved as an output, or written to.
    """

    __slots__ = ("_prune_at", "version", "views")
    put_view: ClassVar[Callable[..., Any]]  # how a view's new array gets into its parent's: set by the operations on views

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
        """The views that show `tensor` itself, and not another view of it."""
        return [each for each in self.alive() if source_of(each) is tensor]

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
        """Give `target` its new array, and replay all that shares its memory."""
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


def root_of(view: Tensor) -> Tensor:
    while view._view is not None:
        view = view._view[0]
    return view


def source_of(tensor: Tensor) -> Tensor | None:
    """What a tensor has its memory from."""
    source: Tensor | None = tensor.__dict__.get("_shares")
    return source if source is not None or tensor._view is None else tensor._view[0]


def memory_root(tensor: Tensor) -> Tensor:
    """The tensor that one shares its memory with and that is no view of another."""
    source = source_of(tensor)
    return tensor if source is None else memory_root(source)


def how_viewed(view: Tensor) -> tuple[Tensor, str, tuple[Any, ...], int | None]:
    """How a view came about: its parent, the view operation, its parameters, and which of several results it is."""
    assert view._view is not None
    parent, record, params, _ = view._view
    if record is not None:
        return parent, record.name, params, None
    if not params:
        raise RuntimeError(f"the {view._key.backend.name} backend cannot write through this view: its arrays are immutable")
    name, number, params = params
    return parent, name, params, number


def _put_back(tensor: Tensor, array: Any) -> Tensor:
    """Write a tensor's new array into what it shares memory with, and so on up to the root."""
    tensor._array = array
    source = tensor.__dict__.get("_shares")
    if source is not None:
        return _put_back(source, array)
    if tensor._view is None:
        return tensor
    parent, name, params, number = how_viewed(tensor)
    return _put_back(parent, Storage.put_view(parent._key, parent._array, array, name, params, number))


def _replay(tensor: Tensor) -> Any:
    source = tensor.__dict__.get("_shares")
    if source is not None:
        return source._array
    parent, name, params, number = how_viewed(tensor)
    made = parent._key[name][0](parent._array, *params)
    return made if number is None else made[number]


class StorageBase:
    """What the storages of the public API have in common for those who only have to know them: see `flambeau.storage`."""

    device: Any

    def as_tensor(self, dtype: Any) -> Tensor:
        """The memory as a one-dimensional tensor of a dtype."""
        raise NotImplementedError
