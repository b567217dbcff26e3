"""Moving and resizing memory, together with all tensors in it.

A tensor that reaches beyond the end of a memory that has shrunk keeps its shape and its place there, but has no elements: its
array is a `Dangling`, and its dispatch key refuses whatever needs them, until the memory is large enough again.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from ..backend import contiguous_strides
from ..engine.devices.devices import DispatchKey, Kernels, device
from ..engine.tensors.storage import memory_root
from ..engine.tensors.tensor import Tensor, attach, wrap
from ..engine.values import dtypes
from ..storage import UntypedStorage, forget, remembered, storage_of
from .memory import Place

__all__ = ["move", "reach", "relocate", "resized"]


def reach(tensor: Tensor, place: Place) -> None:
    """Make a tensor a view of another place of its memory, which grows if it ends before that.

    Raises:
        RuntimeError: the memory would have to grow, and is lent by another object.
    """
    backend, nbytes = tensor._key.backend, place.end * tensor.element_size()
    if nbytes > backend.memory(tensor._array).shape[0]:
        relocate(tensor, resized(tensor, nbytes), place)
    else:
        _set_place(tensor, backend.memory(tensor._array), place)


def resized(tensor: Tensor, nbytes: int) -> Tensor:
    """A new memory, as a tensor of bytes, with a copy of the beginning of a tensor's memory.

    Raises:
        RuntimeError: the memory of the tensor is lent by another object.
    """
    key = tensor._key
    backend, index = key.backend, key.device.index or 0
    if backend.lender(tensor._array) is not None:
        raise RuntimeError("Trying to resize storage that is not resizable")
    before = backend.memory(tensor._array)
    count = min(nbytes, before.shape[0])
    with backend.guard(index):
        memory = backend.on(index).empty((nbytes,), dtype=before.dtype)
        if count:
            backend.write(memory[:count], before[:count])
    return wrap(memory, key.materialized.to(dtypes.uint8))


def relocate(tensor: Tensor, memory: Tensor, place: Place | None = None) -> None:
    """Move a tensor, and all tensors that share its memory, to another memory: a tensor of bytes.

    Each keeps its place; only `tensor` gets another, `place`, if that is given.
    """
    if tensor._key.backend.is_alone(tensor._array):
        _set_place(tensor, memory._array, place or _place_of(tensor))
        return
    move(storage_of(tensor), memory)
    if place is not None:
        _set_place(tensor, memory._array, place)


def move(storage: UntypedStorage, memory: Tensor) -> None:
    """Move a storage, and all tensors in it, to another memory: a tensor of bytes."""
    old_memory = storage._bytes
    if not old_memory._key.backend.is_alone(old_memory._array):
        for tensor in _tensors_in(old_memory):
            _set_place(tensor, memory._array, _place_of(tensor))
    forget(storage)
    storage._bytes = memory
    remembered(storage)


def _tensors_in(memory: Tensor) -> list[Tensor]:
    """The other tensors in a memory, found among all objects: to keep a list of them would cost time with every view."""
    everything = gc.get_objects()
    return [o for o in everything if issubclass(type(o), Tensor) and o is not memory and _lies_in(o, memory)]


def _lies_in(tensor: Tensor, memory: Tensor) -> bool:
    key, backend = getattr(tensor, "_key", None), memory._key.backend
    if key is None or key.materialized.backend is not backend or key.device != memory.device:
        return False
    array = tensor._array
    if type(array) is Dangling:
        own_memory = array.memory
    elif memory._array.shape[0] and not backend.shares_memory(array, memory._array):
        return False
    else:
        own_memory = backend.memory(array)
    return bool(own_memory.shape == memory._array.shape and backend.data_ptr(own_memory) == backend.data_ptr(memory._array))


def _place_of(tensor: Tensor) -> Place:
    backend, array = tensor._key.backend, tensor._array
    return Place(tuple(array.shape), backend.strides(array), backend.root(array)[1])


def _set_place(tensor: Tensor, memory: Any, place: Place) -> None:
    """Make a tensor a view of this place of a memory, an array of bytes; a dangling one if the memory ends before that."""
    key: Any = tensor._key
    key = key.plain if type(key) is DanglingKey else key
    if place.end * key.dtype.itemsize > memory.shape[0]:
        tensor._array, tensor._key = Dangling(memory, key.dtype, *place), dangling(key)
        return
    tensor._array, tensor._key = key.backend.as_strided(_elements(key.backend, memory, key.dtype), *place), key


def _elements(backend: Any, memory: Any, dtype: dtypes.dtype) -> Any:
    """A memory as elements of a dtype, as many as there are whole ones."""
    over = memory.shape[0] % dtype.itemsize
    return backend.reinterpret(memory[: memory.shape[0] - over] if over else memory, dtype)


# --- tensors beyond the end of their memory -----------------------------------------------------------------------


class Dangling(NamedTuple):
    """The layout of an array without elements: where they would be in a memory that ends before them."""

    memory: Any
    dtype: dtypes.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def refuse(self) -> NoReturn:
        """Raise RuntimeError, which says how much is missing."""
        itemsize = self.dtype.itemsize
        needed = Place(self.shape, self.strides, self.offset).end * itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(self.shape)}, strides {list(self.strides)}, storage offset {self.offset}, "
            f"and itemsize {itemsize} requiring a storage size of {needed} are out of bounds for storage of "
            f"size {self.memory.shape[0]}"
        )


class DanglingBackend:
    """A backend that knows the layout of dangling arrays, and refuses everything that needs their elements."""

    inplace_kernels: dict[str, Any] = {}
    all_inplace_kernels: dict[str, Any] = {}

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.inner, name)
        if not callable(attribute) or isinstance(attribute, type):
            return attribute

        def refusing(*args: Any, **kwargs: Any) -> Any:
            for argument in args:
                if type(argument) is Dangling:
                    argument.refuse()
            return attribute(*args, **kwargs)

        return refusing

    def strides(self, array: Dangling) -> tuple[int, ...]:
        return array.strides

    def is_contiguous(self, array: Dangling) -> bool:
        return array.strides == contiguous_strides(array.shape)

    def memory(self, array: Dangling) -> Any:
        return array.memory

    def root(self, array: Dangling) -> tuple[Any, int]:
        return _elements(self.inner, array.memory, array.dtype), array.offset

    def lender(self, array: Dangling) -> Any:
        return self.inner.lender(array.memory)

    def data_ptr(self, array: Dangling) -> int:
        return 0

    def is_alone(self, array: Dangling) -> bool:
        return False

    def is_shared(self, array: Dangling) -> bool:
        return bool(self.inner.is_shared(array.memory))


def _refuse(array: Dangling, *args: Any, **kwargs: Any) -> NoReturn:
    array.refuse()


_REFUSING = Kernels("kernels")
_REFUSING.__dict__["__getattr__"] = lambda name: _refuse


class DanglingKey(DispatchKey):
    """The dispatch key of tensors that reach beyond the end of their memory: there are no kernels for them."""

    __slots__ = ("plain",)

    def __init__(self, plain: DispatchKey) -> None:
        self.plain = plain
        place = device(plain.device.type, plain.device.index)  # another object, since devices are compared by identity first
        super().__init__(plain.dtype, place, DanglingBackend(plain.backend), _REFUSING)  # type: ignore[arg-type]  # it behaves like a Backend

    def __missing__(self, name: str) -> tuple[Callable[..., Any], Any]:
        raise KeyError(name)

    @property
    def materialized(self) -> DispatchKey:
        return self.plain.materialized

    def materialize(self, tensor: Any) -> NoReturn:
        refused: Dangling = tensor._array
        refused.refuse()

    def to(self, dtype: Any) -> DispatchKey:
        return self.plain.to(dtype)

    def on(self, place: device) -> DispatchKey:
        return self.plain.on(place)


_keys: dict[DispatchKey, DanglingKey] = {}


def dangling(plain: DispatchKey) -> DanglingKey:
    """The dispatch key of dangling tensors whose key would else be `plain`; always the same object."""
    key = _keys.get(plain)
    if key is None:
        key = _keys[plain] = DanglingKey(plain)
    return key


def _resize(self: UntypedStorage, nbytes: int) -> None:
    old_memory = self._bytes
    backend = old_memory._key.backend
    if backend.mutable:
        move(self, resized(old_memory, nbytes))
        return
    if memory_root(old_memory) is not old_memory or (old_memory._storage is not None and old_memory._storage.alive()):
        raise RuntimeError(f"the {backend.name} backend cannot resize a storage that tensors lie in: arrays are immutable")
    count = min(nbytes, old_memory.numel())
    longer = old_memory.new_empty(nbytes)
    longer[:count] = old_memory[:count]
    forget(self)
    self._bytes = longer
    remembered(self)


UntypedStorage._resize = _resize


def _share_memory_(self: Tensor) -> Tensor:
    """Move the memory, and with it all tensors in it, to where other processes can see it."""
    if not self.is_shared():
        backend = self._key.backend
        relocate(self, wrap(backend.share(backend.memory(self._array)), self._key.materialized.to(dtypes.uint8)))
    return self


attach(share_memory_=_share_memory_)
