"""Memory of tensors: storages, strides, resizing, sharing."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from ..backend import Backend, MutableBackend, contiguous_strides, is_mutable
from ..engine.calls.arguments import as_int
from ..engine.calls.dispatch import refuse_size, require_tensors
from ..engine.calls.facts import Kind, declare
from ..engine.calls.op import composite, op
from ..engine.calls.wrappers import as_method
from ..engine.devices.devices import DispatchKey, Kernels, device
from ..engine.tape.tensor_class import RECORDED
from ..engine.tensors.storage import memory_root
from ..engine.tensors.tensor import Tensor, attach, wrap
from ..engine.values import dtypes
from ..engine.values.constants import memory_format
from ..storage import STORAGE_CLASSES, TypedStorage, UntypedStorage, register_storage, storage_of, unregister_storage
from .views.views import as_shape


def _storage(self: Tensor) -> TypedStorage:
    """Return the tensor's storage, typed with its dtype."""
    return TypedStorage(wrap_storage=storage_of(self), dtype=self.dtype)


def _untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the tensor's storage as bytes."""
    return storage_of(self)


def _storage_type(self: Tensor) -> Any:
    """Return the class of the tensor's typed storage."""
    return STORAGE_CLASSES[f"{self.dtype.legacy_name}Storage"]


attach(storage=_storage, _typed_storage=_storage, untyped_storage=_untyped_storage, storage_type=_storage_type)


class Place(NamedTuple):
    """Size, strides and offset of a tensor in its storage, counted in elements."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @property
    def end(self) -> int:
        if 0 in self.size:
            return self.offset
        return self.offset + 1 + sum((n - 1) * step for n, step in zip(self.size, self.stride, strict=True))

    def overlaps(self) -> bool:
        """Whether two elements may share a memory location."""
        reach = 0
        for step, n in sorted(zip(self.stride, self.size, strict=True)):
            if n > 1 and step <= reach:
                return True
            reach += step * (n - 1)
        return False


def _strided_forward(xp: Any, input: Any, /, size: Any, stride: Any, offset: Any, backend: Any, given: Place) -> Any:
    return backend.as_strided(backend.root(input)[0], size, stride, offset)


def replaced_forward(xp: Any, input: Any, /, source: Place, target: Place, given: Place) -> Any:
    from .indexing.subscripts import sum_at

    start = min(source.offset, target.offset)
    length = max(source.end, target.end) - start

    def flat(place: Place) -> Any:
        index = xp.asarray(place.offset - start, dtype=xp.int64)
        for n, step in zip(place.size, place.stride, strict=True):
            index = xp.expand_dims(index, axis=-1) + xp.arange(n, dtype=xp.int64) * step
        return xp.reshape(index, (-1,))

    memory = sum_at(xp, xp.reshape(input, (-1,)), flat(source), length)
    if given.overlaps():
        positions = flat(given)
        memory = memory / xp.clip(sum_at(xp, xp.ones(positions.shape, dtype=input.dtype), positions, length), 1, None)
    return xp.reshape(xp.take(memory, flat(target), axis=0), target.size)


_strided = op(
    "as_strided", _strided_forward,
    kind=Kind.VIEW, view=True, public=False, method=False,
    dispatches=lambda input, size, stride, offset, backend, given: ("as_strided", input, list(size), list(stride), offset),
    input=lambda F, g, size, stride, offset, given: F.replaced(g, Place(size, stride, offset), given, given),
)  # fmt: skip
op(
    "replaced", replaced_forward,
    kind=Kind.CONVERSION, public=False, method=False, out=False,
    doc="""Return the elements at `target` of a memory of zeros, after the input was added at `source`.

        This is the gradient of `as_strided`, called on a tensor at `given`.  Elements of `given` that share a memory location
        get
        equal parts of the gradient there.
    """,
    input=lambda F, g, source, target, given: F.replaced(g, target, source, given),
)  # fmt: skip


@composite
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Return a view of the tensor's storage with any size, strides and offset (in elements).

    Args:
        input: a tensor of any shape.
        size: the sizes of the view.
        stride: the distances in the storage between neighbouring elements of each dimension, not negative.
        storage_offset: the index in the storage of the first element; None for that of `input`.

    Raises:
        RuntimeError: sizes and strides differ in number, or the view exceeds the storage.

    >>> torch.as_strided(torch.arange(5), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    for name, value in (("size", size), ("stride", stride)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"as_strided(): argument '{name}' must be tuple of ints, not {type(value).__name__}")
    size, stride = as_shape((size,)), as_shape((stride,))
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} != {len(size)}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    backend = input._key.backend
    length = backend.root(input._array)[0].shape[0]
    start = input.storage_offset() if storage_offset is None else as_int("as_strided", "storage_offset", storage_offset)
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    needed = start + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if needed > length and not input._key.wraps:  # the class checks its memory
        item = input.element_size()
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize {item} "
            f"requiring a storage size of {needed * item} are out of bounds for storage of size "
            f"{length * item}"
        )
    place = Place(tuple(input.shape), input.stride(), input.storage_offset())
    return _strided(input, tuple(size), tuple(stride), start, backend, place)


RECORDED.as_strided = _strided  # so that `F.as_strided` in derivative rules takes the same arguments as `_strided`


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors have the same storage, address, shape and strides.

    Args:
        tensor: the other tensor.
    """
    if not self.numel() and (self._storage is None or self._storage is not tensor._storage):
        return self is tensor
    return self.data_ptr() == tensor.data_ptr() and self.shape == tensor.shape and self.stride() == tensor.stride()


@declare("is_same_size", kind=Kind.QUERY)
def _is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape.

    Args:
        other: the other tensor.
    """
    require_tensors("is_same_size", other=other)
    return self._array.shape == other._array.shape  # type: ignore[no-any-return]  # arrays are untyped


def _is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the tensor is in page-locked host memory.

    Args:
        device: without effect.
    """
    from ..engine.devices import cuda as runtime

    return self.device.type == "cpu" and runtime.is_initialized() and runtime.init().is_pinned(self.data_ptr())


@declare("pin_memory", kind=Kind.CONVERSION)
def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Copy the tensor to page-locked host memory, which a device can read directly. A pinned tensor is returned itself.

    Args:
        device: without effect.

    Raises:
        RuntimeError: the tensor is not on the CPU, or no accelerator is available.
    """
    from ..engine.devices import cuda as runtime
    from .creation.from_data import frombuffer

    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if not runtime.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if not self.numel() or _is_pinned(self):
        return self
    memory = runtime.init().pinned_memory(self.numel() * self.element_size())
    return frombuffer(memory, dtype=self.dtype).view(self.shape).copy_(self.detach())


def _is_shared(self: Tensor) -> bool:
    """Whether the tensor is in memory that other processes can access."""
    backend = self._key.backend
    return self.is_cuda or (is_mutable(backend) and backend.is_shared(self._array))


def _record_stream(self: Tensor, s: Any) -> None:
    """Prevent reuse of the memory until the work queued on the stream `s` is done.

    Args:
        s: a CUDA stream; without effect for a CPU tensor.
    """
    if self.is_cuda:
        from ..engine.devices import cuda as runtime

        runtime.init().record_stream(self._array, s)


attach(is_set_to=as_method(_is_set_to), is_same_size=as_method(_is_same_size))
attach(is_pinned=_is_pinned, pin_memory=_pin_memory, record_stream=_record_stream)


def _dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """Return the dimensions in order of decreasing stride.

    Sizes of 1 and equal strides make the order ambiguous.  With `ambiguity_check=True`, an ambiguous order raises RuntimeError.
    With a list of memory formats it does as well, unless the strides differ and the tensor is contiguous in exactly one of the
    formats.

    Args:
        ambiguity_check: True, False or a list of memory formats.

    >>> torch.ones(2, 3, 4).transpose(0, 2).dim_order()
    (2, 1, 0)
    """
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not (isinstance(formats, list) and all(isinstance(f, memory_format) for f in formats)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    if ambiguity_check is not False and (1 in self.shape or len(set(strides)) < len(strides)):
        if sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
        if len(set(strides)) < len(strides):
            raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(sorted(range(self.ndim), key=lambda d: (-strides[d], d)))


@declare("is_distributed", kind=Kind.QUERY)
def _is_distributed(self: Tensor) -> bool:
    """Return False, as PyTorch always does; this is a legacy method."""
    return False


@declare("slice_inverse", kind=Kind.VIEW)
def _slice_inverse(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return the tensor that `self` is a slice of, as a view of the same storage with the layout of `src`.

    Args:
        src: the tensor with the shape, strides and offset of the result.
        dim, start, end, step: without effect, because `src` determines the result.
    """
    return self.as_strided(src.shape, src.stride(), src.storage_offset())


attach(is_shared=_is_shared, dim_order=_dim_order, slice_inverse=_slice_inverse, is_distributed=_is_distributed)

# --- moving and resizing memory with all its tensors --------------------------------------------------------------


def reach(tensor: Tensor, place: Place) -> None:
    """Make a tensor a view of another region of its memory; memory that is too small is enlarged.

    Raises:
        RuntimeError: the memory is too small and owned by another object.
    """
    backend, nbytes = tensor._key.backend, place.end * tensor.element_size()
    if nbytes > backend.memory(tensor._array).shape[0]:
        relocate(tensor, resized(tensor, nbytes), place)
    else:
        _set_place(tensor, backend.memory(tensor._array), place)


def resized(tensor: Tensor, nbytes: int) -> Tensor:
    """Allocate `nbytes` as a tensor of bytes, and copy the beginning of a tensor's memory to it.

    Raises:
        RuntimeError: the memory of the tensor is owned by another object.
    """
    key = tensor._key
    backend, index = _mutable(key.backend), key.device.index or 0
    if backend.memory_owner(tensor._array) is not None:
        raise RuntimeError("Trying to resize storage that is not resizable")
    before = backend.memory(tensor._array)
    count = min(nbytes, before.shape[0])
    with backend.guard(index):
        try:
            memory = backend.namespace_on(index).empty((nbytes,), dtype=before.dtype)
        except Exception as error:
            refuse_size(error)
            raise
        if count:
            backend.write(memory[:count], before[:count])
    return wrap(memory, key.materialized.to(dtypes.uint8))


def relocate(tensor: Tensor, memory: Tensor, place: Place | None = None) -> None:
    """Move a tensor, and all tensors that share its memory, to `memory`, a tensor of bytes.

    If `place` (size, strides, offset) is given, `tensor` gets this layout.  The other tensors keep their layouts.
    """
    if _mutable(tensor._key.backend).is_unaliased(tensor._array):
        _set_place(tensor, memory._array, place or _place_of(tensor))
        return
    move(storage_of(tensor), memory)
    if place is not None:
        _set_place(tensor, memory._array, place)


def move(storage: UntypedStorage, memory: Tensor) -> None:
    """Move a storage, and all tensors in it, to `memory`, a tensor of bytes."""
    old_memory = storage._bytes
    if not _mutable(old_memory._key.backend).is_unaliased(old_memory._array):
        for tensor in _tensors_in(old_memory):
            _set_place(tensor, memory._array, _place_of(tensor))
    unregister_storage(storage)
    storage._bytes = memory
    register_storage(storage)


def _mutable(backend: Backend) -> MutableBackend:
    assert is_mutable(backend), f"cannot move memory of the {backend.name} backend: its arrays are immutable"
    return backend


def _tensors_in(memory: Tensor) -> list[Tensor]:
    """Return all other tensors in the same memory.

    This searches all live objects, because a registry of tensors would slow down the creation of every view.
    """
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
    """Make a tensor a view of `memory`, an array of bytes, with the layout `place`.

    If the memory is too small, the tensor becomes dangling: access to its elements raises an error.
    """
    key: Any = tensor._key
    key = key.plain if type(key) is DanglingKey else key
    if place.end * key.dtype.itemsize > memory.shape[0]:
        tensor._array, tensor._key = Dangling(memory, key.dtype, *place), dangling(key)
        return
    tensor._array, tensor._key = key.backend.as_strided(_elements(key.backend, memory, key.dtype), *place), key


def _elements(backend: Any, memory: Any, dtype: dtypes.dtype) -> Any:
    """Reinterpret bytes as elements of a dtype; an incomplete last element is dropped."""
    over = memory.shape[0] % dtype.itemsize
    return backend.reinterpret(memory[: memory.shape[0] - over] if over else memory, dtype)


# --- dangling tensors, whose memory is too small ------------------------------------------------------------------


class Dangling(NamedTuple):
    """The layout (shape, strides, offset) of an array whose memory is too small for its elements."""

    memory: Any
    dtype: dtypes.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def refuse(self) -> NoReturn:
        """Raise a RuntimeError with the required and the actual size of the memory."""
        itemsize = self.dtype.itemsize
        needed = Place(self.shape, self.strides, self.offset).end * itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(self.shape)}, strides {list(self.strides)}, storage offset {self.offset}, "
            f"and itemsize {itemsize} requiring a storage size of {needed} are out of bounds for storage of "
            f"size {self.memory.shape[0]}"
        )


class DanglingBackend:
    """A backend that returns the layout of dangling arrays, and raises an error for access to their elements."""

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

    def memory_owner(self, array: Dangling) -> Any:
        return self.inner.memory_owner(array.memory)

    def data_ptr(self, array: Dangling) -> int:
        return 0

    def is_unaliased(self, array: Dangling) -> bool:
        return False

    def is_shared(self, array: Dangling) -> bool:
        return bool(self.inner.is_shared(array.memory))


def _refuse(array: Dangling, *args: Any, **kwargs: Any) -> NoReturn:
    array.refuse()


_REFUSING = Kernels("kernels")
_REFUSING.__dict__["__getattr__"] = lambda name: _refuse


class DanglingKey(DispatchKey):
    """The dispatch key of dangling tensors, whose memory is too small: all kernels raise an error."""

    __slots__ = ("plain",)

    def __init__(self, plain: DispatchKey) -> None:
        self.plain: DispatchKey = plain
        # a new device object: fast paths that compare devices by identity must not apply to dangling tensors
        place = device(plain.device.type, plain.device.index)
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
    """Return the dispatch key for a dangling tensor whose key was `plain`.  One key is created for each `plain`."""
    key = _keys.get(plain)
    if key is None:
        key = _keys.setdefault(plain, DanglingKey(plain))
    return key


def resize_storage(self: UntypedStorage, nbytes: int) -> None:
    old_memory = self._bytes
    backend = old_memory._key.backend
    if backend.mutable:
        move(self, resized(old_memory, nbytes))
        return
    if memory_root(old_memory) is not old_memory or (old_memory._storage is not None and old_memory._storage.alive()):
        raise RuntimeError(
            f"the {backend.name} backend cannot resize a storage that is used by tensors: its arrays are immutable"
        )
    count = min(nbytes, old_memory.numel())
    longer = old_memory.new_empty(nbytes)
    longer[:count] = old_memory[:count]
    unregister_storage(self)
    self._bytes = longer
    register_storage(self)


def _share_memory_(self: Tensor) -> Tensor:
    """Move the tensor, and all tensors that share its memory, to memory shared between processes."""
    if not self.is_shared():
        backend = self._key.backend
        relocate(self, wrap(backend.share(backend.memory(self._array)), self._key.materialized.to(dtypes.uint8)))
    return self


attach(share_memory_=_share_memory_)
