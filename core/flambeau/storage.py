"""What tensors that share memory have in common, and the one-dimensional faces of that memory."""

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


# --- the public faces ---------------------------------------------------------------------------------------------


class _Memory:
    """All memory of a tensor, as one dimension of elements."""

    def __init__(self, flat: Tensor) -> None:
        self._flat = flat

    @property
    def device(self) -> Any:
        return self._flat.device

    @property
    def is_cuda(self) -> bool:
        return self._flat.is_cuda

    def data_ptr(self) -> int:
        """The address of the memory."""
        return self._flat.data_ptr()

    def size(self) -> int:
        """The number of elements."""
        return self._flat.numel()

    __len__ = size

    def element_size(self) -> int:
        """Bytes per element."""
        return self._flat.element_size()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._flat.numel() * self._flat.element_size()

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        return self._flat.tolist()  # type: ignore[no-any-return]  # a list, as the storage is flat

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.data_ptr() == other.data_ptr() and len(self) == len(other)

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def __reduce__(self) -> Any:
        from .serialization import reduce_storage

        return reduce_storage(self)  # type: ignore[arg-type]  # of either class of storage

    def fill_(self, value: Any) -> Any:
        """Set every element."""
        self._flat.fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Overwrite the elements with those of another storage."""
        self._flat.copy_(source._flat)
        return self

    def resize_(self, size: int) -> Any:
        """Change the number of elements, keeping those that remain; tensors made before keep the old memory."""
        flat = self._flat.new_empty(size)
        kept = min(size, len(self))
        flat[:kept] = self._flat[:kept]
        self._flat = flat
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """The elements in the memory of a device; the storage itself where they are there."""
        return self._of(self._flat.to(device, non_blocking=non_blocking))

    def cpu(self) -> Any:
        """The elements in the CPU's memory."""
        return self._of(self._flat.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """The elements in the memory of a CUDA device, the current one by default."""
        return self._of(self._flat.cuda(device, non_blocking))

    def _of(self, flat: Tensor) -> Any:
        return self if flat is self._flat else type(self)(flat)

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return self._flat.is_shared()

    def share_memory_(self) -> Any:
        """Move the memory to where other processes can see it."""
        self._flat.share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return self._flat.is_pinned(device)

    def pin_memory(self, device: Any = None) -> Any:
        """A copy in page-locked memory, or the storage itself if it is there."""
        return self._of(self._flat.pin_memory(device))

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist())
        return f"{lines}[{self._title()}]"

    def _title(self) -> str:
        raise NotImplementedError


class TypedStorage(_Memory):
    """Memory as elements of one dtype: what ``tensor.storage()`` gives.

    >>> import flambeau as torch
    >>> torch.zeros(2, 2)[1].storage().size()
    4
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, *args: Any, dtype: Any = None, device: Any = None, wrap_storage: Any = None, **unknown: Any) -> None:
        from .creation import empty, tensor

        dtype = getattr(type(self), "dtype_of_class", None) or dtype
        if wrap_storage is not None:
            flat = wrap_storage.as_tensor(dtype)
        elif args and hasattr(args[0], "_array"):
            flat = args[0]
        elif args and not isinstance(args[0], int):
            flat = tensor(list(args[0]), dtype=dtype, device=device)
        else:
            flat = empty(*(args or (0,)), dtype=dtype, device=device)
        super().__init__(flat)

    @property
    def dtype(self) -> Any:
        return self._flat.dtype

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(_bytes_of(self._flat))

    def as_tensor(self, dtype: Any) -> Tensor:
        """The memory as a one-dimensional tensor."""
        return self._flat if dtype is self._flat.dtype else self._flat.view(dtype)

    def type(self, dtype: Any = None) -> Any:
        """The name of the storage's type, such as ``torch.FloatStorage``."""
        return f"torch.{self._flat.dtype.legacy_name}Storage"

    def pickle_storage_type(self) -> str:
        return f"{self._flat.dtype.legacy_name}Storage"

    def __getitem__(self, index: Any) -> Any:
        found = self._flat[index]
        return TypedStorage(found) if isinstance(index, slice) else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[index] = value

    def clone(self) -> TypedStorage:
        """A copy."""
        return type(self)(self._flat.clone())

    def _title(self) -> str:
        return f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}"


class UntypedStorage(_Memory):
    """Memory as bytes: what ``tensor.untyped_storage()`` gives."""

    def __init__(self, data: Any = 0, *, device: Any = None) -> None:
        from . import dtypes
        from .creation import empty, tensor

        if hasattr(data, "_array"):
            flat = data
        elif isinstance(data, int):
            flat = empty(data, dtype=dtypes.uint8, device=device)
        else:
            flat = tensor(list(data), dtype=dtypes.uint8, device=device)
        super().__init__(flat)

    @classmethod
    def from_buffer(cls, data: Any, **options: Any) -> UntypedStorage:
        """A storage holding a copy of an object with the buffer protocol."""
        from . import dtypes
        from .creation import empty, frombuffer

        if not len(data):
            return cls(empty(0, dtype=dtypes.uint8))
        return cls(frombuffer(bytearray(data), dtype=dtypes.uint8))

    def tobytes(self) -> bytes:
        """A copy of the bytes."""
        return self._flat.cpu().numpy().tobytes()  # type: ignore[no-any-return]  # of the array library

    def untyped(self) -> UntypedStorage:
        return self

    def as_tensor(self, dtype: Any) -> Tensor:
        """The memory as a one-dimensional tensor of a dtype."""
        return self._flat if dtype is self._flat.dtype else self._flat.view(dtype)

    def clone(self) -> UntypedStorage:
        """A copy."""
        return UntypedStorage(self._flat.clone())

    def __getitem__(self, index: Any) -> Any:
        found = self._flat[index]
        return UntypedStorage(found) if isinstance(index, slice) else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[index] = value

    def _title(self) -> str:
        return f"torch.storage.UntypedStorage(device={self.device}) of size {len(self)}"


def _bytes_of(flat: Tensor) -> Tensor:
    from . import dtypes

    return flat.view(dtypes.uint8)


def flat_memory(tensor: Tensor) -> Tensor:
    """All memory that a tensor is a view of, as a one-dimensional tensor that shares it."""
    from ._tensor import wrap

    if not tensor._kind.backend.mutable:
        return memory_root(tensor).detach().view(-1)
    flat = wrap(tensor._kind.backend.root(tensor._array)[0], tensor._kind.settled)
    flat._storage = tensor._storage or tensor._own_storage()
    return flat


def make_storage_classes() -> dict[str, type[TypedStorage]]:
    """``FloatStorage`` and its like."""
    from . import dtypes

    classes = {}
    for each in dtypes.ALL:
        name = f"{each.legacy_name}Storage"
        classes[name] = type(name, (TypedStorage,), {"dtype_of_class": each, "__module__": "flambeau"})
    return classes
