"""Memory of tensors: storages, strides, resizing, sharing."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor, attach
from ..backend import contiguous_strides
from ..op import RECORDED, composite, op
from ..storage import TypedStorage, UntypedStorage, flat_memory
from .views import as_shape, sizes_given


def _storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor is a view of, as elements of its dtype."""
    return TypedStorage(flat_memory(self))


def _untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor is a view of, as bytes."""
    return TypedStorage(flat_memory(self)).untyped()


def _storage_type(self: Tensor) -> Any:
    """The class of the tensor's storage."""
    import flambeau

    return getattr(flambeau, f"{self.dtype.legacy_name}Storage")


attach(storage=_storage, untyped_storage=_untyped_storage, storage_type=_storage_type)


def _strided_forward(xp: Any, input: Any, /, size: Any, stride: Any, offset: Any, backend: Any) -> Any:
    flat, own = backend.root(input)
    return backend.as_strided(flat, size, stride, own if offset is None else offset)


def _strided_backward_forward(xp: Any, input: Any, /, shape: Any, size: Any, stride: Any, offset: Any, backend: Any) -> Any:
    """Add each element to where the strides found it in a contiguous tensor of ``shape``."""
    made = xp.zeros(shape, dtype=input.dtype)
    positions = backend.as_strided(xp.arange(made.size), size, stride, offset or 0)
    flat = xp.reshape(made, (-1,))
    return xp.reshape(_add_at(xp, flat, xp.reshape(positions, (-1,)), xp.reshape(input, (-1,))), shape)


def _add_at(xp: Any, flat: Any, positions: Any, values: Any) -> Any:
    from .indexing import _sum_at

    return flat + _sum_at(xp, values, positions, flat.size)


_strided = op(
    "as_strided", _strided_forward, view=True, public=False, method=False,
    input=lambda F, g, input_shape, size, stride, offset, backend: F.as_strided_backward(
        g, input_shape, size, stride, offset, backend),
)  # fmt: skip
op(
    "as_strided_backward", _strided_backward_forward, public=False, method=False, out=False,
    input=lambda F, g, size, stride, offset, backend: F.as_strided(F.contiguous(g), size, stride, offset, backend),
)  # fmt: skip


@composite
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with any size and strides (in elements).

    Raises:
        RuntimeError: sizes and strides differ in number, or reach outside the memory.
    """
    size, stride = as_shape((size,)), as_shape((stride,))
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} != {len(size)}")
    if any(each < 0 for each in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    backend = input._kind.backend
    length = backend.root(input._array)[0].shape[0]
    start = input.storage_offset() if storage_offset is None else storage_offset
    needed = start + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if needed > length:
        item = input.element_size()
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize {item} "
                           f"requiring a storage size of {needed * item} are out of bounds for storage of size "
                           f"{length * item}")  # fmt: skip
    return _strided(input, size, stride, start, backend)


def _as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Make this tensor another view of its memory, in place."""
    self._array = as_strided(self.detach(), size, stride, storage_offset)._array
    return self


def _set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make this tensor a view of a storage's, or of another tensor's, memory."""
    if source is None:
        source = self.new_empty(0)
    if not isinstance(source, Tensor):
        flat = source.as_tensor(self.dtype)
        size = (flat.numel(),) if size is None else as_shape((size,))
        stride = contiguous_strides(size) if stride is None else as_shape((stride,))
        source = as_strided(flat, size, stride, storage_offset)
    elif size is not None:
        source = as_strided(source, size, contiguous_strides(as_shape((size,))) if stride is None else stride, storage_offset)
    if source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
    self._array, self._storage = source._array, source._storage or source._own_storage()
    return self


def _resize_(self: Tensor, size: Any, *rest: Any, memory_format: Any = None) -> Tensor:
    """Change the shape in place: the memory is kept where it is large enough, and grows, uninitialised, where not."""
    shape = sizes_given(size, rest)
    if self._requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    backend = self._kind.backend
    flat, offset = backend.root(self._array)
    count = 1
    for each in shape:
        count *= each
    if offset + count > flat.shape[0]:
        xp = backend.on(self.device.index)
        flat = xp.concat([flat, xp.empty((offset + count - flat.shape[0],), dtype=self._kind.raw_dtype)])
        self._storage = None
    self._array = backend.as_strided(flat, shape, contiguous_strides(shape), offset)
    self._bump_version()
    return self


def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """A view of another shape.  Deprecated in favour of ``view``."""
    return self.reshape(*sizes)


def _resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """``resize_`` to the shape of ``the_template``."""
    return _resize_(self, the_template.shape)


attach(as_strided_=_as_strided_, set_=_set_)
attach(resize_=_resize_, resize=_resize, resize_as_=_resize_as_)
RECORDED.as_strided = _strided  # what derivative rules call, with the record's arguments
attach(resize_as=lambda self, tensor: _resize(self, tensor.shape))


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory."""
    return (self.data_ptr() == tensor.data_ptr() and self.shape == tensor.shape and self.stride() == tensor.stride())


def _is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return self._array.shape == other._array.shape  # type: ignore[no-any-return]  # arrays are untyped


def _is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is the host's and page-locked."""
    from ..cuda import runtime

    return self.device.type == "cpu" and runtime.is_initialized() and runtime.init().is_pinned(self.data_ptr())


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in page-locked memory of the host, which a device reads without a detour; the tensor itself if it is there.

    Raises:
        RuntimeError: the tensor is not on the CPU, or there is no device.
    """
    from ..creation import frombuffer
    from ..cuda import runtime

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
    return self.is_cuda or self._kind.backend.is_shared(self._array)


def _share_memory_(self: Tensor) -> Tensor:
    """Move the memory to where other processes can see it, in place."""
    if not _is_shared(self):
        self._array = self._kind.backend.share(self._array)
    return self


def _record_stream(self: Tensor, s: Any) -> None:
    """Keep the memory from reuse until the work queued on the stream ``s`` is done."""
    self._kind.backend.record_stream(self._array, s)


attach(is_set_to=_is_set_to, is_same_size=_is_same_size)
attach(is_pinned=_is_pinned, pin_memory=_pin_memory, record_stream=_record_stream)
attach(is_shared=_is_shared, share_memory_=_share_memory_)
