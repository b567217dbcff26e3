"""State shared by tensors with the same memory: a version counter and a list of views."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = [
    "IN_CUSTOM_FUNCTION", "IN_INFERENCE_MODE", "DataStorage", "InferenceStorage", "Storage", "StorageBase",
    "how_viewed", "memory_root", "root_of", "source_of",
]  # fmt: skip

# The last item of `Tensor._view` is one of these two, or True if autograd has recorded the view, or False if it has not.
IN_CUSTOM_FUNCTION = "in a custom Function"
IN_INFERENCE_MODE = "in inference mode, of a tensor made outside"


class Storage:
    """State shared by a tensor and its views: the number of in-place writes (`version`), and weak references to the views.

    `unversioned` is the number of writes through `.data`, which autograd does not count.  `views` begins with the oldest view.
    A storage is created when a tensor is first viewed, saved as an output, or written to.
    """

    __slots__ = ("_prune_at", "unversioned", "version", "views")
    put_view: ClassVar[Callable[..., Any]]  # writes a view's new array into its parent's array; set by the operations on views

    def __init__(self) -> None:
        self.version: int = 0
        self.unversioned: int = 0
        self.views: list[weakref.ref[Tensor]] = []
        self._prune_at = 16

    def add_view(self, view: Tensor) -> None:
        views = self.views
        views.append(weakref.ref(view))
        if len(views) > self._prune_at:
            views[:] = [reference for reference in views if reference() is not None]
            self._prune_at = 2 * len(views) + 16

    def add_former(self, former: Tensor, view: Tensor) -> None:
        """Insert `former` into `views` before `view`, which has become a view of `former`."""
        position = next((i for i, reference in enumerate(self.views) if reference() is view), len(self.views))
        self.views.insert(position, weakref.ref(former))

    def alive(self) -> list[Tensor]:
        """Return the views that still exist, the oldest first."""
        return [view for view in (reference() for reference in self.views) if view is not None]

    def views_of(self, tensor: Tensor) -> list[Tensor]:
        """Return the direct views of `tensor`, without the views of its views."""
        return [view for view in self.alive() if source_of(view) is tensor]

    # --- for backends with immutable arrays ---

    def link(self, alias: Tensor, source: Tensor) -> None:
        """Let `alias` share the memory of `source` without being a view of it."""
        alias.__dict__["_shares"] = source
        self.add_view(alias)

    def twin(self) -> Storage:
        """Return a storage for the same memory with a separate version counter."""
        storage = Storage()
        storage.views = self.views
        return storage

    def replace(self, target: Tensor, array: Any) -> None:
        """Give `target` a new array, and recompute the arrays of all tensors that share its memory."""
        root = _put_back(target, array)
        for tensor in self.alive():
            if memory_root(tensor) is root:
                tensor._array = _replay(tensor)

    def renew_views(self, target: Tensor, known: set[int]) -> None:
        """Recompute the arrays of the views of `target`, whose array is new; skip views whose `id` is in `known`."""
        root = memory_root(target)
        for tensor in self.alive():
            if id(tensor) not in known and memory_root(tensor) is root:
                tensor._array = _replay(tensor)


class DataStorage(Storage):
    """The storage of `x.data`: it has its own version counter, and counts its writes as `unversioned` in the storage of `x`."""

    __slots__ = ("_origin", "_version")
    _origin: Storage

    def __init__(self, origin: Storage) -> None:
        self._origin = origin._origin if isinstance(origin, DataStorage) else origin
        self._version = 0
        super().__init__()

    @property
    def version(self) -> int:
        """The number of in-place writes."""
        return self._version

    @version.setter
    def version(self, value: int) -> None:
        self._origin.unversioned += value - self._version
        self._version = value


class InferenceStorage(Storage):
    """The storage of a tensor created in inference mode; its views are inference tensors as well.

    Views never have a history, so that only those of immutable arrays are needed later.
    """

    __slots__ = ()

    def add_view(self, view: Tensor) -> None:
        view._inference = True
        if not view._key.backend.mutable:
            super().add_view(view)


def root_of(view: Tensor) -> Tensor:
    while view._view is not None:
        view = view._view[0]
    return view


def source_of(tensor: Tensor) -> Tensor | None:
    """Return the tensor from which this one got its memory, as a view or an alias; None if the tensor owns its memory."""
    source: Tensor | None = tensor.__dict__.get("_shares")
    return source if source is not None or tensor._view is None else tensor._view[0]


def memory_root(tensor: Tensor) -> Tensor:
    """Return the tensor that owns the memory of this tensor, found by following `source_of`."""
    source = source_of(tensor)
    return tensor if source is None else memory_root(source)


def how_viewed(view: Tensor) -> tuple[Tensor, str, tuple[Any, ...], int | None]:
    """Return the operation that made a view: `(parent, name, parameters, index among several results or None)`."""
    assert view._view is not None
    parent, record, params, _ = view._view
    if record is not None:
        return parent, record.name, params, None
    if not params:
        raise RuntimeError(f"the {view._key.backend.name} backend cannot write through this view: its arrays are immutable")
    name, number, params = params
    return parent, name, params, number


def _put_back(tensor: Tensor, array: Any) -> Tensor:
    """Write a tensor's new array into the tensor it is a view of, and so on up to the root; return the root."""
    tensor._array = array
    source = tensor.__dict__.get("_shares")
    if source is not None:
        return _put_back(source, array)
    if tensor._view is None:
        return tensor
    parent, name, params, number = how_viewed(tensor)
    return _put_back(parent, Storage.put_view(parent._key, parent._array, array, name, params, number))


def _replay(tensor: Tensor) -> Any:
    """Compute the array of a tensor again, from the array of the tensor that it is a view or alias of."""
    source = tensor.__dict__.get("_shares")
    if source is not None:
        return source._array
    parent, name, params, number = how_viewed(tensor)
    result = parent._key[name][0](parent._array, *params)
    return result if number is None else result[number]


class StorageBase:
    """Base class of the public storages (`flambeau.storage`), for modules that cannot import `flambeau.storage`."""

    device: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is StorageBase:
            raise RuntimeError("Cannot directly construct StorageBase; subclass it and then construct that")
        return object.__new__(cls)

    def as_tensor(self, dtype: Any) -> Tensor:
        """Return a one-dimensional tensor of this dtype that shares the storage's memory."""
        raise NotImplementedError
