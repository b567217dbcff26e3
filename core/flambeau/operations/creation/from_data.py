"""Create tensors from numbers and nested sequences, and tensors that share the memory of arrays, buffers and storages."""

from __future__ import annotations

import operator
from array import array as c_array
from functools import reduce
from typing import Any

from ...backend import Backend, is_mutable
from ...engine.calls.facts import Kind, declare
from ...engine.calls.tables import PUBLIC
from ...engine.devices.devices import DispatchKey, canonical, dispatch_key
from ...engine.devices.devices import device as Device
from ...engine.devices.warning import warn, warn_once
from ...engine.tensors.storage import StorageBase
from ...engine.tensors.tensor import Tensor, wrap
from ...engine.values import dtypes
from ...engine.values.dtypes import dtype as Dtype
from ...engine.values.scalars import converted, is_library_scalar
from .options import as_device, finish, key_for

__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "tensor"]


# --- numbers and sequences ----------------------------------------------------------------------------------------


@declare(kind=Kind.FACTORY)
def tensor(
    data: Any, *, dtype: Dtype | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Return a tensor with a copy of `data`: a number, nested sequences, an array, or a tensor.

    Args:
        data: the numbers; the nested sequences of one depth must have equal lengths.
        dtype: the dtype of the result; None for the dtype of `data`. Python floats then have the default dtype, and integers
            int64.
        device: the device of the result; None for the device of `data`, or for the default device.
        requires_grad: whether autograd records operations on the result.
        pin_memory: whether the result is in page-locked memory, from which copies to a GPU are faster.

    Raises:
        ValueError: the nested sequences have unequal lengths.
        TypeError: an element is not a number.

    >>> torch.tensor([[1, 2], [3, 4]]), torch.tensor(1.5)
    (tensor([[1, 2],
            [3, 4]]), tensor(1.5000))
    """
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        )
        key = dispatch_key(dtype or data.dtype, as_device(device) or data.device)
        return finish(_converted(data.detach(), key, copy=True), requires_grad, pin_memory=pin_memory)
    return finish(from_data(data, dtype, device, copy=True), requires_grad, pin_memory=pin_memory)


def _converted(value: Tensor, key: DispatchKey, copy: bool) -> Tensor:
    from ..conversion import to_key

    return to_key(value, key, copy)


def from_data(data: Any, dtype: Dtype | None, device: Any, copy: bool | None) -> Tensor:
    if type(data) in NUMBERS:
        key = key_for(dtype, device, dtypes.promotion_of_scalar(type(data)))
        return wrap(_scalar_array(data, key), key)
    if _is_array(data):
        return _from_array(data, dtype, device, copy)
    if isinstance(data, StorageBase) or hasattr(data, "__dlpack__"):
        shared = _share_memory(data, dtype)
        assert shared is not None
        return _converted(shared, dispatch_key(dtype or shared.dtype, as_device(device) or _device_of_data(data)), bool(copy))
    if isinstance(data, (list, tuple)):
        result = _from_plain_lists(data, None if dtype is None else dtypes.as_dtype(dtype), device)
        if result is not None:
            return result
        if data and type(data[0]).__name__ == "ndarray":
            warn_once(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to "
                "a single numpy.ndarray with numpy.array() before converting to a tensor."
            )
    return _from_sequences(data, dtype, device)


NUMBERS = frozenset({bool, int, float, complex})
_PLAIN = (bool, int, float)


def _from_plain_lists(data: Any, dtype: Dtype | None, device: Any) -> Tensor | None:
    """Convert nested lists of bools, ints and floats in one backend call; return None if they contain anything else."""
    types: set[type] = set()
    if not _leaf_types(data, types) or not types or (dtype is not None and dtype.category < dtypes.FLOATING and float in types):
        return None
    if dtype is None:
        dtype = dtypes.promotion_of_scalar(next(kind for kind in (float, int, bool) if kind in types))
    key = key_for(dtype, device)
    try:
        return wrap(key.backend.asarray(data, key.raw_dtype, index=key.device.index or 0), key)
    except (TypeError, ValueError, OverflowError):
        return None


def _leaf_types(data: Any, types: set[type]) -> bool:
    """Collect the types of the numbers in nested lists; return False if they contain anything but numbers.

    Raises:
        TypeError: a list contains itself.
    """
    item_types = set(map(type, data))
    if not item_types.isdisjoint({list, tuple}):
        try:
            plain = [_leaf_types(item, types) for item in data if type(item) in (list, tuple)]
        except RecursionError:
            raise TypeError("new(): self-referential lists are incompatible") from None
        return all(plain) and item_types <= {list, tuple}
    types |= item_types
    return item_types.issubset(_PLAIN)


def _scalar_array(value: Any, key: DispatchKey) -> Any:
    """Convert one number to a 0-d array; a number outside an integer dtype's range wraps around or raises an error."""
    if key.dtype.category == dtypes.INTEGER and isinstance(value, float):
        value = converted(value, key.dtype)
    try:
        return key.backend.asarray(value, key.raw_dtype, index=key.device.index or 0)
    except OverflowError:
        return key.backend.asarray(_convert_large_integer(value, key.dtype), key.raw_dtype, index=key.device.index or 0)


def _convert_large_integer(value: Any, dtype: Dtype) -> Any:
    """Convert a number outside the range of `dtype` with `converted`; raise ValueError for more than 64 bits."""
    if isinstance(value, int) and dtype is not dtypes.uint64 and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return converted(value, dtype)


def _is_array(data: Any) -> bool:
    return hasattr(data, "__array__") or hasattr(data, "__array_interface__") or hasattr(data, "__cuda_array_interface__")


def _is_sequence(data: Any) -> bool:
    return (
        hasattr(data, "__getitem__")
        and hasattr(data, "__len__")
        and getattr(data, "shape", None) != ()
        and not isinstance(data, (Tensor, dict, str))
    )


def _from_sequences(data: Any, dtype: Dtype | None, device: Any) -> Tensor:
    """Build a tensor from nested sequences whose elements may be arrays of other libraries or one-element tensors."""
    shape = _shape_of(data)
    key = key_for(dtype or _dtype_in(data), device)
    numbers: list[Any] = []
    if 0 not in shape:
        _collect(data, shape, 0, numbers, key.dtype)
    index = key.device.index or 0
    try:
        array = key.backend.asarray(_cast(numbers, key.dtype), key.raw_dtype, index=index)
    except (ValueError, OverflowError):
        array = key.backend.asarray([_convert_large_integer(number, key.dtype) for number in numbers], key.raw_dtype, index=index)
    return wrap(key.backend.xp.reshape(array, shape), key)


def _shape_of(data: Any) -> tuple[int, ...]:
    """Return the shape of nested sequences, read from the first element of each."""
    shape = []
    while _is_sequence(data):
        shape.append(len(data))
        if not len(data):
            break
        data = _first(data)
    if shape and isinstance(data, str):
        raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _first(data: Any) -> Any:
    """Return `data[0]`; raise ValueError if that fails, as for a Series of pandas without the label 0."""
    try:
        return data[0]
    except Exception:
        raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from None


def _dtype_in(data: Any) -> Dtype:
    """Return the promoted dtype of all elements of nested sequences."""
    if isinstance(data, Tensor):
        return data.dtype
    if _is_array(data):
        return _as_backend_array(data)[2]
    if isinstance(data, (int, float, complex)):
        return dtypes.promotion_of_scalar(type(data))
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not _is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    element_dtypes = dict.fromkeys(map(_dtype_in, data))
    return reduce(dtypes.promote_types, element_dtypes) if element_dtypes else dtypes.get_default_dtype()


def _collect(data: Any, shape: tuple[int, ...], dim: int, numbers: list[Any], dtype: Dtype) -> None:
    """Append the elements of nested sequences of this shape to `numbers`; `dtype` selects the error for multi-element tensors."""
    if dim == len(shape):
        if isinstance(data, Tensor) and data.numel() != 1:
            if dtype.category <= dtypes.INTEGER:
                raise TypeError("only integer tensors of a single element can be converted to an index")
            raise ValueError("only one element tensors can be converted to Python scalars")
        numbers.append(data)
        return
    if isinstance(data, Tensor) or _is_array(data):
        data = as_tensor(data).tolist()
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        _collect(item, shape, dim + 1, numbers, dtype)


def _cast(numbers: list[Any], dtype: Dtype) -> list[Any]:
    """Convert number-like objects to Python numbers of the kind that `dtype` holds."""
    if dtype.category == dtypes.INTEGER:
        return [int(number) if isinstance(number, float) else operator.index(number) for number in numbers]
    if dtype.category == dtypes.FLOATING:
        return c_array("d", numbers).tolist()  # an array of C doubles: unlike `float`, it rejects strings
    return list(map(bool if dtype is dtypes.bool_ else complex, numbers))


# --- sharing memory -----------------------------------------------------------------------------------------------


def _as_backend_array(data: Any) -> tuple[Backend, Any, Dtype]:
    """Return the backend for another library's array, the array converted to that backend, and its dtype."""
    from ... import backend as backends

    backend = backends.for_device_type("cuda" if hasattr(data, "__cuda_array_interface__") else "cpu")
    array = backend.asarray(data)
    try:
        dtype = backend.dtype_of(array)
    except KeyError:
        if not getattr(array.dtype, "isnative", True):
            raise ValueError(
                "given numpy array has byte order different from the native byte order. Conversion between byte "
                "orders is currently not supported."
            ) from None
        scalar_type = array.dtype.type
        raise TypeError(
            f"can't convert np.ndarray of type {scalar_type.__module__}.{scalar_type.__name__}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            "uint8, and bool."
        ) from None
    for step in array.strides:
        if step < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are "
                "not currently supported. (You can probably work around this by making a copy of your array  with "
                "array.copy().) "
            )
        if step % dtype.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                "reallocate the memory."
            )
    return backend, array, dtype


def _from_array(data: Any, dtype: Dtype | None, device: Any, copy: bool | None) -> Tensor:
    """Return a tensor from another library's array; it shares memory unless `copy`, dtype or device require a copy."""
    place = as_device(device)
    own = dispatch_key(dtypes.bool_, place).backend
    # An array of the device's own library, e.g. a JAX array, is used without conversion.
    if own.device_type not in ("cpu", "cuda", "meta") and isinstance(data, own.array_type):
        taken = own.copy(data) if copy else data
        return _converted(
            wrap(taken, dispatch_key(own.dtype_of(taken), place)), dispatch_key(dtype or own.dtype_of(taken), place), False
        )
    backend, array, array_dtype = _as_backend_array(data)
    source = dispatch_key(array_dtype, as_device(backend.device_type))
    target = dispatch_key(dtype or array_dtype, place)
    if not copy:
        array = _shared(backend, array)
    elif source is target:
        array = source.F.clone(array)
    return _converted(wrap(array, source), target, copy=False)


def _share_array(data: Any) -> Tensor:
    """Return a tensor that shares the memory of another library's array, on the array's device."""
    backend, array, dtype = _as_backend_array(data)
    return wrap(_shared(backend, array), dispatch_key(dtype, as_device(backend.device_type)))


def _shared(backend: Backend, array: Any) -> Any:
    """Return a writable array on the same memory, with a warning if another library's array is read-only."""
    if not getattr(array.flags, "writeable", True):  # only NumPy's flags have `writeable`
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
            "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or make "
            "it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
            "program."
        )
    return backend.window(array) if is_mutable(backend) else array


def _share_memory(data: Any, dtype: Dtype | None) -> Tensor | None:
    """Return a tensor that shares the memory of an array, a storage, a DLPack object or a buffer; None for any other object."""
    if _is_array(data):
        return _share_array(data)
    if isinstance(data, StorageBase):
        return data.as_tensor(dtype or getattr(data, "dtype", dtypes.int64))
    if hasattr(data, "__dlpack__") or type(data).__name__ == "PyCapsule":
        return _shared_by_dlpack(data)
    try:
        memoryview(data)
    except TypeError:
        return None
    return frombuffer(data, dtype=dtype or dtypes.get_default_dtype())


@declare(kind=Kind.FACTORY)
def as_tensor(data: Any, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """Convert `data` to a tensor, without a copy if dtype and device allow; a tensor keeps its autograd history.

    Args:
        data: a tensor, an array, a number or nested sequences of numbers.
        dtype: the dtype of the result; None for the dtype of `data`.
        device: the device of the result; None for that of a tensor, else for the default device.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    if isinstance(data, Tensor):
        return _converted(data, dispatch_key(dtype or data.dtype, as_device(device) or data.device), copy=False)
    return from_data(data, dtype, device, copy=None)


@declare(kind=Kind.FACTORY)
def asarray(
    obj: Any, *, dtype: Dtype | None = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """Convert `obj` to a tensor that shares its memory if possible (`copy=None`), never (True), or always (False).

    Memory can be shared with tensors, arrays, storages, and objects with DLPack or the buffer protocol.  The bytes of a buffer
    are read as elements of `dtype`.  A tensor keeps its autograd history, unless `requires_grad` is False.

    Args:
        obj: a tensor, an array, a storage, a scalar, nested sequences, or an object with DLPack or the buffer protocol.
        dtype: the dtype of the result; None for that of `obj`, and for the default dtype if `obj` is a buffer.
        device: the device of the result; None for that of `obj`.
        copy: whether to copy: True for always, False for never, None if necessary.
        requires_grad: whether the result requires a gradient.

    Raises:
        ValueError: `copy=False`, and `obj` has no memory to share, or does not have the requested dtype and device.
        RuntimeError: `copy=False` for another library's scalar; `requires_grad` for a dtype that cannot require gradients.

    >>> torch.asarray(bytearray(b"abcd"), dtype=torch.int16).shape
    torch.Size([2])
    """
    if isinstance(obj, Tensor):
        source: Tensor | None = obj
    elif _is_array(obj) and (copy or (copy is None and getattr(obj, "shape", None) == ())):  # another library's scalar
        return finish(from_data(obj, dtype, device, copy=True), requires_grad)
    else:
        source = _share_memory(obj, dtype)
    if source is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return finish(from_data(obj, dtype, device, copy=None), requires_grad)
    key = dispatch_key(dtype or source.dtype, as_device(device) or _device_of_data(obj))
    if copy is False:
        _check_alias(obj, source, key)
    result = _converted(source, key, copy=False)
    result = result.clone() if copy and result is source else result
    return _with_requires_grad(result, requires_grad) if source is obj else finish(result, requires_grad)


def _device_of_data(data: Any) -> Device | None:
    """Return the device of a tensor or a storage, or None for any other object."""
    return data.device if isinstance(data, (Tensor, StorageBase)) else None


def _check_alias(obj: Any, source: Tensor, key: DispatchKey) -> None:
    """Raise an error if `asarray` would have to copy."""
    if source is not obj and getattr(obj, "shape", None) == ():
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
    if source.device != key.device:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{key.device}'.")
    if source.dtype is not key.dtype:
        raise ValueError(f"can't alias tensor with dtype '{source.dtype.legacy_name}' into dtype '{key.dtype.legacy_name}'.")


def _with_requires_grad(result: Tensor, requires_grad: bool | None) -> Tensor:
    """Apply `requires_grad` to the result of `asarray` for a tensor.

    None keeps the tensor unchanged.  False detaches it.  True makes a tensor without autograd history require a gradient.
    """
    if requires_grad is None:
        if result._requires_grad:
            warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                "requires_grad=False explicitly to get the old behavior and silence this warning."
            )
        return result
    if not requires_grad and result._node is not None:
        return result.detach()
    return result if result._node is not None else finish(result.requires_grad_(False), requires_grad)


@declare(kind=Kind.FACTORY)
def from_numpy(ndarray: Any, /) -> Tensor:
    """Return a CPU tensor that shares the memory of a NumPy array.

    Args:
        ndarray: the array.

    Raises:
        TypeError: the argument is not a NumPy array, or its dtype is not supported.
        ValueError: the strides or the byte order are not supported.

    >>> import numpy as np
    >>> a = np.zeros(2); t = torch.from_numpy(a); a[0] = 1
    >>> t
    tensor([1., 0.], dtype=torch.float64)
    """
    if not hasattr(ndarray, "__array_interface__") or isinstance(ndarray, Tensor) or is_library_scalar(ndarray):
        cls = type(ndarray)
        raise TypeError(f"expected np.ndarray (got {cls.__name__ if cls.__module__ == 'builtins' else _full_name(cls)})")
    return _share_array(ndarray)


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@declare(kind=Kind.FACTORY, home="torch.utils.dlpack")
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor that shares the memory of another library's array, or of a DLPack capsule.

    Args:
        ext_tensor: a tensor, an array with `__dlpack__`, or a DLPack capsule, which can be used once.
        device: the device of the result; None for that of the array.
        copy: whether to copy: True for always, False for never, None if the device differs.

    Raises:
        BufferError: the memory cannot be exported.
        RuntimeError: the argument is neither an array nor a capsule, or the capsule has been consumed.
        ValueError: `copy=False`, and the memory is on another device.

    >>> import numpy as np
    >>> torch.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    result = _shared_by_dlpack(ext_tensor)
    target = result.device if device is None else canonical(device if isinstance(device, Device) else Device(device))
    if copy is False and target != result.device:
        raise ValueError(f"cannot move a tensor from {result.device} to {target} without a copy (copy=False)")
    return result.to(target, copy=bool(copy))


def _shared_by_dlpack(ext_tensor: Any) -> Tensor:
    from ... import backend as backends
    from ...engine.values.dlpack import Capsule, ElementType

    if isinstance(ext_tensor, Tensor):
        if ext_tensor._requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return ext_tensor.detach()
    if not hasattr(ext_tensor, "__dlpack__"):
        ext_tensor = Capsule(ext_tensor)
    backend = backends.for_device_type("cuda" if int(ext_tensor.__dlpack_device__()[0]) == 2 else "cpu")
    try:
        array = backend.xp.from_dlpack(ext_tensor)
    except (BufferError, RuntimeError, TypeError):  # most array libraries refuse bfloat16
        capsule = ext_tensor if isinstance(ext_tensor, Capsule) else Capsule(ext_tensor.__dlpack__())
        if not capsule.relabel(ElementType.BFLOAT16, ElementType.INT16):
            raise
        array = backend.reinterpret(backend.xp.from_dlpack(capsule), dtypes.bfloat16)
    return wrap(array, dispatch_key(backend.dtype_of(array), Device(backend.device_type)))


@declare(kind=Kind.FACTORY)
def frombuffer(buffer: Any, *, dtype: Dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a one-dimensional tensor that shares the memory of an object with the buffer protocol.

    Args:
        buffer: the object.
        dtype: the dtype of its elements.
        count: the number of elements; by default all.
        offset: the number of bytes to skip before the first element.
        requires_grad: whether the tensor requires a gradient.

    Raises:
        ValueError: the object is not a buffer, it is empty or too short, or its size is not a multiple of the element size.
        RuntimeError: the buffer is not contiguous.

    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    from ... import backend as backends

    key = dispatch_key(dtype, Device("cpu"))
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    size = view.nbytes
    if not size or not count:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if offset < 0 or offset >= size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1")
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element "
            f"size ({dtype.itemsize})"
        )
    if count > 0 and offset + count * dtype.itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be "
            f"greater than actual buffer length ({size} bytes)"
        )
    if view.readonly:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write "
            "to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to "
            "protect its data or make it writable before converting it to a tensor. This type of warning will be "
            "suppressed for the rest of this program."
        )
    backend: Any = backends.for_device_type("cpu")
    array = backend.frombuffer(buffer, key.raw_dtype, count, offset)
    return finish(wrap(backend.window(array) if view.readonly else array, key), requires_grad)


PUBLIC.update(
    tensor=tensor, as_tensor=as_tensor, asarray=asarray, from_numpy=from_numpy, from_dlpack=from_dlpack, frombuffer=frombuffer,
)  # fmt: skip
