"""Memory of tensors: storages, strides, resizing, sharing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..engine.calls.arguments import as_int
from ..engine.calls.dispatch import require_tensors
from ..engine.calls.op import composite, op
from ..engine.calls.wrappers import as_method
from ..engine.tape.tensor_class import RECORDED
from ..engine.tensors.tensor import Tensor, attach
from ..storage import STORAGE_CLASSES, TypedStorage, UntypedStorage, storage_of
from .views import as_shape


def _storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor is a view of, as elements of its dtype."""
    return TypedStorage(wrap_storage=storage_of(self), dtype=self.dtype)


def _untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor is a view of, as bytes."""
    return storage_of(self)


def _storage_type(self: Tensor) -> Any:
    """The class of the tensor's storage."""
    return STORAGE_CLASSES[f"{self.dtype.legacy_name}Storage"]


attach(storage=_storage, _typed_storage=_storage, untyped_storage=_untyped_storage, storage_type=_storage_type)


class Place(NamedTuple):
    """Where the elements of a tensor are in its memory."""

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
    from .indexing import _sum_at

    start = min(source.offset, target.offset)
    length = max(source.end, target.end) - start

    def flat(place: Place) -> Any:
        index = xp.asarray(place.offset - start, dtype=xp.int64)
        for n, step in zip(place.size, place.stride, strict=True):
            index = xp.expand_dims(index, axis=-1) + xp.arange(n, dtype=xp.int64) * step
        return xp.reshape(index, (-1,))

    memory = _sum_at(xp, xp.reshape(input, (-1,)), flat(source), length)
    if given.overlaps():
        positions = flat(given)
        memory = memory / xp.clip(_sum_at(xp, xp.ones(positions.shape, dtype=input.dtype), positions, length), 1, None)
    return xp.reshape(xp.take(memory, flat(target), axis=0), target.size)


_strided = op(
    "as_strided", _strided_forward, view=True, public=False, method=False,
    input=lambda F, g, size, stride, offset, given: F.replaced(g, Place(size, stride, offset), given, given),
)  # fmt: skip
op(
    "replaced", replaced_forward, public=False, method=False, out=False,
    doc="""The elements at `target` of a memory of zeros to which the input was added at `source`: the gradient of `as_strided`.

    Elements of `given`, the tensor that `as_strided` was called on, get equal parts of what is at a location that they share.
    """,
    input=lambda F, g, source, target, given: F.replaced(g, target, source, given),
)  # fmt: skip


@composite
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with any size and strides (in elements).

    Raises:
        RuntimeError: sizes and strides differ in number, or reach outside the memory.
    """
    for name, value in (("size", size), ("stride", stride)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"as_strided(): argument '{name}' must be tuple of ints, not {type(value).__name__}")
    size, stride = as_shape((size,)), as_shape((stride,))
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} != {len(size)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    backend = input._key.backend
    length = backend.root(input._array)[0].shape[0]
    start = input.storage_offset() if storage_offset is None else as_int("as_strided", "storage_offset", storage_offset)
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    needed = start + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if needed > length:
        item = input.element_size()
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize {item} "
            f"requiring a storage size of {needed * item} are out of bounds for storage of size "
            f"{length * item}"
        )
    place = Place(tuple(input.shape), input.stride(), input.storage_offset())
    return _strided(input, tuple(size), tuple(stride), start, backend, place)


RECORDED.as_strided = _strided  # derivative rules call `F.as_strided` with the record's arguments


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory."""
    return self.data_ptr() == tensor.data_ptr() and self.shape == tensor.shape and self.stride() == tensor.stride()


def _is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    require_tensors("is_same_size", other=other)
    return self._array.shape == other._array.shape  # type: ignore[no-any-return]  # arrays are untyped


def _is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is the host's and page-locked."""
    from ..engine.devices import cuda as runtime

    return self.device.type == "cpu" and runtime.is_initialized() and runtime.init().is_pinned(self.data_ptr())


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in page-locked memory of the host, which a device can read directly; the tensor itself if it is there.

    Raises:
        RuntimeError: the tensor is not on the CPU, or there is no device.
    """
    from ..engine.devices import cuda as runtime
    from .creation import frombuffer

    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if not runtime.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if not self.numel() or _is_pinned(self):
        return self
    memory = runtime.init().pinned_memory(self.numel() * self.element_size())
    return frombuffer(memory, dtype=self.dtype).view(self.shape).copy_(self.detach())


def _is_shared(self: Tensor) -> bool:
    """Whether other processes can see the memory."""
    return self.is_cuda or self._key.backend.is_shared(self._array)


def _record_stream(self: Tensor, s: Any) -> None:
    """Keep the memory from reuse until the work queued on the stream `s` is done."""
    self._key.backend.record_stream(self._array, s)


attach(is_set_to=as_method(_is_set_to), is_same_size=as_method(_is_same_size))
attach(is_pinned=_is_pinned, pin_memory=_pin_memory, record_stream=_record_stream)
attach(
    is_shared=_is_shared,
)
