"""Tensors from data, and tensors from a shape."""

from __future__ import annotations

import math
import operator
from array import array as c_array
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

from . import dtypes
from ._tensor import Tensor, attach, wrap
from .arguments import Number, as_int
from .autograd.grad_mode import _grad, is_inference_mode_enabled
from .backend import Backend
from .declared import as_method
from .devices import Kind, canonical, kind_of
from .devices import device as Device
from .dispatch import _c_name as c_name
from .dtypes import dtype as Dtype
from .op import PUBLIC
from .operands import is_library_scalar
from .ops.views import as_shape
from .scalars import converted
from .settings import memory_order, warn_once
from .storage import InferenceStorage

__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "range",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]  # fmt: skip


def _place(device: Any) -> Device | None:
    return device if device is None or isinstance(device, Device) else Device(device)


def _kind(dtype: Dtype | None, device: Any, default: Dtype | None = None) -> Kind:
    if dtype is not None and type(dtype) is not Dtype:
        dtype = dtypes.meant(dtype)
    return kind_of(dtype or default or dtypes.get_default_dtype(), _place(device))


def _dtype_of(out: Any) -> Dtype | None:
    """The dtype of ``out``, where it is given."""
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    return None if out is None else out.dtype


def _finish(made: Tensor, requires_grad: bool | None, out: Tensor | None = None, pin_memory: bool | None = False) -> Tensor:
    if out is not None:
        if out.dtype is not made.dtype:
            raise RuntimeError(f"dtype {made.dtype.legacy_name} does not match dtype of out parameter ({out.dtype.legacy_name})")
        if out._requires_grad and _grad.get():
            raise RuntimeError("functions with out=... arguments don't support automatic differentiation, but one of the "
                               "arguments requires grad.")  # fmt: skip
        if out._array.shape != made._array.shape:
            out.resize_(made._array.shape)
        return out._assign(made)
    if pin_memory:
        made = made.pin_memory()
    if is_inference_mode_enabled():
        InferenceStorage.of(made)
    if requires_grad is not False and requires_grad is not None:
        if requires_grad is not True:
            raise TypeError(f"argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
        if made._kind.dtype.category < dtypes.FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made.requires_grad = True
    return made


# --- from data ----------------------------------------------------------------------------------------------------


def tensor(
    data: Any, *, dtype: Dtype | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A tensor holding a copy of ``data``: a number, nested sequences, an array, a tensor.

    Raises:
        ValueError: nested sequences of unequal lengths.
        TypeError: an element that is no number.

    >>> import flambeau as torch
    >>> torch.tensor([[1, 2], [3, 4]]), torch.tensor(1.5)
    (tensor([[1, 2],
            [3, 4]]), tensor(1.5000))
    """
    if isinstance(data, Tensor):
        import warnings

        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                      stacklevel=2)  # fmt: skip
        kind = kind_of(dtype or data.dtype, _place(device) or data.device)
        return _finish(_converted(data.detach(), kind, copy=True), requires_grad, pin_memory=pin_memory)
    return _finish(_from_data(data, dtype, device, copy=True), requires_grad, pin_memory=pin_memory)


def _converted(value: Tensor, kind: Kind, copy: bool) -> Tensor:
    from .ops.conversion import to_kind

    return to_kind(value, kind, copy)


def _from_data(data: Any, dtype: Dtype | None, device: Any, copy: bool | None) -> Tensor:
    if type(data) in _NUMBERS:
        kind = _kind(dtype, device, dtypes.promotion_of_scalar(type(data)))
        return wrap(_scalar_array(data, kind), kind)
    if _is_array(data):
        return _from_array(data, dtype, device, copy)
    if isinstance(data, (list, tuple)):
        made = _from_plain_lists(data, None if dtype is None else dtypes.meant(dtype), device)
        if made is not None:
            return made
        if data and type(data[0]).__name__ == "ndarray":
            warn_once("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to "
                      "a single numpy.ndarray with numpy.array() before converting to a tensor.")  # fmt: skip
    return _from_sequences(data, dtype, device)


_NUMBERS = frozenset({bool, int, float, complex})
_PLAIN = (bool, int, float)


def _from_plain_lists(data: Any, dtype: Dtype | None, device: Any) -> Tensor | None:
    """Nested lists of bools, ints and floats in one go; None where the data needs a closer look."""
    kinds: set[type] = set()
    if not _leaf_types(data, kinds) or not kinds or (dtype is not None and dtype.category < dtypes.FLOATING and float in kinds):
        return None
    if dtype is None:
        dtype = dtypes.promotion_of_scalar(next(each for each in (float, int, bool) if each in kinds))
    kind = _kind(dtype, device)
    try:
        return wrap(kind.backend.asarray(data, kind.raw_dtype, index=kind.device.index or 0), kind)
    except (TypeError, ValueError, OverflowError):
        return None


def _leaf_types(data: Any, kinds: set[type]) -> bool:
    """Collect the types of the numbers in nested lists; False where there is anything else."""
    found = set(map(type, data))
    if found <= {list, tuple}:
        return all(_leaf_types(each, kinds) for each in data)
    kinds |= found
    return found.issubset(_PLAIN)


def _scalar_array(value: Any, kind: Kind) -> Any:
    """One number as an array, checked; a negative one is taken modulo the size of an unsigned dtype."""
    if kind.dtype.category == dtypes.INTEGER and isinstance(value, float):
        value = converted(value, kind.dtype)
    try:
        return kind.backend.asarray(value, kind.raw_dtype, index=kind.device.index or 0)
    except OverflowError:
        return kind.backend.asarray(converted(value, kind.dtype), kind.raw_dtype, index=kind.device.index or 0)


def _is_array(data: Any) -> bool:
    return hasattr(data, "__array__") or hasattr(data, "__array_interface__") or hasattr(data, "__cuda_array_interface__")


def _is_sequence(data: Any) -> bool:
    return (hasattr(data, "__getitem__") and hasattr(data, "__len__") and getattr(data, "shape", None) != ()
            and not isinstance(data, (Tensor, dict, str)))  # fmt: skip


def _from_sequences(data: Any, dtype: Dtype | None, device: Any) -> Tensor:
    """Nested sequences of anything that stands for a number: arrays of other libraries, tensors of one element."""
    shape = _shape_of(data)
    kind = _kind(dtype or _dtype_in(data), device)
    numbers: list[Any] = []
    if 0 not in shape:
        _collect(data, shape, 0, numbers)
    index = kind.device.index or 0
    try:
        array = kind.backend.asarray(_cast(numbers, kind.dtype), kind.raw_dtype, index=index)
    except (ValueError, OverflowError):
        array = kind.backend.asarray([converted(each, kind.dtype) for each in numbers], kind.raw_dtype, index=index)
    return wrap(kind.backend.xp.reshape(array, shape), kind)


def _shape_of(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences, as the first in each has it."""
    shape = []
    while _is_sequence(data):
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    if shape and isinstance(data, str):
        raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _dtype_in(data: Any) -> Dtype:
    """The dtype that holds whatever is in nested sequences."""
    if isinstance(data, Tensor):
        return data.dtype
    if _is_array(data):
        return _adopted(data)[2]
    if isinstance(data, (int, float, complex)):
        return dtypes.promotion_of_scalar(type(data))
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not _is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    found = dict.fromkeys(map(_dtype_in, data))
    return reduce(dtypes.promote_types, found) if found else dtypes.get_default_dtype()


def _collect(data: Any, shape: tuple[int, ...], dim: int, numbers: list[Any]) -> None:
    """Append what nested sequences of this shape hold to ``numbers``."""
    if dim == len(shape):
        if isinstance(data, Tensor) and data.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        numbers.append(data)
        return
    if isinstance(data, Tensor) or _is_array(data):
        data = as_tensor(data).tolist()
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for each in data:
        _collect(each, shape, dim + 1, numbers)


def _cast(numbers: list[Any], dtype: Dtype) -> list[Any]:
    """What stands for numbers as Python's own, for a dtype."""
    if dtype.category == dtypes.INTEGER:
        return [int(each) if isinstance(each, float) else operator.index(each) for each in numbers]
    if dtype.category == dtypes.FLOATING:
        return c_array("d", numbers).tolist()  # which, unlike ``float``, takes no strings
    return list(map(bool if dtype is dtypes.bool_ else complex, numbers))


def _adopted(data: Any) -> tuple[Backend, Any, Dtype]:
    """The backend for another library's array, the array as that has it, and its dtype."""
    from . import backend as backends

    home = backends.for_device_type("cuda" if hasattr(data, "__cuda_array_interface__") else "cpu")
    array = home.asarray(data)
    try:
        return home, array, home.dtype_of(array)
    except KeyError:
        raise TypeError(f"can't convert np.ndarray of type {array.dtype}. The only supported types are: float64, float32, "
                        "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and "
                        "bool.") from None  # fmt: skip


def _from_array(data: Any, dtype: Dtype | None, device: Any, copy: bool | None) -> Tensor:
    """A tensor from another library's array, sharing its memory unless a copy is asked for or needed."""
    home, array, own = _adopted(data)
    given, wanted = kind_of(own, Device(home.device_type)), kind_of(dtype or own, _place(device))
    if copy and given is wanted:
        array = given.F.clone(array)
    return _converted(wrap(array, given), wanted, copy=False)


def as_tensor(data: Any, *, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, without a copy where dtype and device allow; a tensor keeps its history."""
    if isinstance(data, Tensor):
        return _converted(data, kind_of(dtype or data.dtype, _place(device) or data.device), copy=False)
    return _from_data(data, dtype, device, copy=None)


def asarray(
    obj: Any, *, dtype: Dtype | None = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """``obj`` as a tensor, sharing memory if possible (``copy=None``), never (True), or always (False: ValueError).

    The derivatives of a tensor go on, unless ``requires_grad`` is False.
    """
    make = tensor if copy and not isinstance(obj, Tensor) else as_tensor
    made = make(obj, dtype=dtype, device=device)
    if isinstance(obj, Tensor):
        made = made.clone() if copy and made is obj else made
        if copy is False and made is not obj:
            raise ValueError("can't alias tensor with given dtype or device")
        if requires_grad is None:
            return made
        return made.requires_grad_() if requires_grad else made.detach()
    if copy is False and not _is_array(obj):
        raise ValueError(f"can't alias arbitrary sequence into a tensor: {type(obj).__name__}")
    return _finish(made, bool(requires_grad))


def from_numpy(ndarray: Any, /) -> Tensor:
    """A CPU tensor that shares the memory of a NumPy array.

    >>> import flambeau as torch, numpy as np
    >>> a = np.zeros(2); t = torch.from_numpy(a); a[0] = 1
    >>> t
    tensor([1., 0.], dtype=torch.float64)
    """
    if not hasattr(ndarray, "__array_interface__") or isinstance(ndarray, Tensor):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if any(step < 0 for step in ndarray.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                         "currently supported. (You can probably work around this by making a copy of your array  with "
                         "array.copy().) ")  # fmt: skip
    if not ndarray.flags.writeable:
        import warnings

        warnings.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
                      "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
                      "data or make it writable before converting it to a tensor.", stacklevel=2)  # fmt: skip
    return _from_array(ndarray, None, "cpu", None)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of another library's array, or of a DLPack capsule.

    It is a copy on another ``device``, or if ``copy`` says so.

    Raises:
        BufferError: the memory is not given away.
        RuntimeError: neither an array nor a capsule, or a capsule that has been consumed.
        ValueError: ``copy=False``, and the memory is on another device.

    >>> import numpy as np, flambeau as torch
    >>> torch.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    made = _shared_by_dlpack(ext_tensor)
    place = made.device if device is None else canonical(device if isinstance(device, Device) else Device(device))
    if copy is False and place != made.device:
        raise ValueError(f"cannot move a tensor from {made.device} to {place} without a copy (copy=False)")
    return made.to(place, copy=bool(copy))


def _shared_by_dlpack(ext_tensor: Any) -> Tensor:
    from . import backend as backends
    from .utils.dlpack import Capsule

    if isinstance(ext_tensor, Tensor):
        if ext_tensor._requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return ext_tensor.detach()
    if not hasattr(ext_tensor, "__dlpack__"):
        ext_tensor = Capsule(ext_tensor)
    home = backends.for_device_type("cuda" if int(ext_tensor.__dlpack_device__()[0]) == 2 else "cpu")
    array = home.xp.from_dlpack(ext_tensor)
    return wrap(array, kind_of(home.dtype_of(array), Device(home.device_type)))


def frombuffer(buffer: Any, *, dtype: Dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor on the memory of an object with the buffer protocol."""
    from . import backend as backends

    kind = kind_of(dtype, Device("cpu"))
    size = len(memoryview(buffer).cast("B"))
    if not size:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if offset < 0 or offset >= size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1")
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element "
                         f"size ({dtype.itemsize})")  # fmt: skip
    if count > 0 and offset + count * dtype.itemsize > size:
        raise ValueError(f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be "
                         f"greater than actual buffer length ({size} bytes)")  # fmt: skip
    array = backends.for_device_type("cpu").frombuffer(buffer, kind.raw_dtype, count, offset)  # type: ignore[attr-defined]  # an optional capability
    return _finish(wrap(array, kind), requires_grad)


# --- from a shape -------------------------------------------------------------------------------------------------


def _filled(name: str, doc: str, make: Callable[[Kind, tuple[int, ...]], Any]) -> Callable[..., Tensor]:
    """A factory ``name(*size)`` with PyTorch's options."""

    def factory(
        *size: Any, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None, device: Any = None,
        requires_grad: bool | None = False, pin_memory: bool | None = False, memory_format: Any = None, names: Any = None,
    ) -> Tensor:  # fmt: skip
        shape = _checked_shape(name, size)
        kind = _kind(dtype, device, _dtype_of(out))
        array = make(kind, shape) if memory_format is None else _in_order(memory_format.order(len(shape)), shape, kind, make)
        made = wrap(array, kind)
        return _finish(made, requires_grad, out, pin_memory)

    return _publish(name, doc, factory)


def _checked_shape(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    try:
        shape = as_shape(size)
    except TypeError as error:
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints: {error}") from error
    if shape and min(shape) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _publish(name: str, doc: str, factory: Callable[..., Tensor]) -> Callable[..., Tensor]:
    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = doc
    PUBLIC[name] = _offered_to_modes(name, factory)
    return PUBLIC[name]


def _offered_to_modes(name: str, factory: Callable[..., Any]) -> Callable[..., Any]:
    """A factory of sizes has no tensor arguments: only a TorchFunctionMode can override it."""
    from functools import wraps

    from .operands import FAST

    if not factory.__code__.co_flags & 4:  # has no *size, which Python lets nobody give by name
        return factory

    @wraps(factory)
    def create(*args: Any, **kwargs: Any) -> Any:
        if not FAST:
            from . import overrides

            if overrides.wanted((), name=name):
                return overrides.handle_torch_function(create, (), *args, **kwargs)
        if "size" in kwargs:
            args = (*args, kwargs.pop("size"))
        try:
            return factory(*args, **kwargs)
        except Exception:
            from . import overrides

            if overrides.may_override([*args, *kwargs.values()]):
                return overrides.handle_torch_function(create, overrides.relevant([*args, *kwargs.values()]), *args, **kwargs)
            raise

    create.__dict__["__body__"] = factory
    return create


def _xp_filled(function: str) -> Callable[[Kind, tuple[int, ...]], Any]:
    return lambda kind, shape: getattr(kind.backend.on(kind.device.index), function)(shape, dtype=kind.raw_dtype)


zeros = _filled("zeros", "A tensor of zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``.", _xp_filled("zeros"))
ones = _filled("ones", "A tensor of ones: ``ones(2, 3)`` or ``ones((2, 3))``.", _xp_filled("ones"))
empty = _filled("empty", "A tensor of uninitialised elements.", _xp_filled("empty"))


def _options(like: Tensor, dtype: Dtype | None, device: Any) -> Kind:
    if dtype is not None and type(dtype) is not Dtype:
        dtype = dtypes.meant(dtype)
    return kind_of(dtype or like.dtype, _place(device) or like.device)


def _like(name: str, doc: str, make: Callable[[Kind, tuple[int, ...]], Any]) -> Callable[..., Tensor]:
    def factory(
        input: Tensor, *, dtype: Dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool | None = False,
        memory_format: Any = None, pin_memory: bool | None = False,
    ) -> Tensor:  # fmt: skip
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        kind = _options(input, dtype, device)
        array = _in_order(memory_order(input, memory_format), input._array.shape, kind, make)
        return _finish(wrap(array, kind), requires_grad, pin_memory=pin_memory)

    return _publish(name, doc, factory)


def _in_order(order: tuple[int, ...], shape: tuple[int, ...], kind: Kind, make: Callable[[Kind, tuple[int, ...]], Any]) -> Any:
    """What ``make`` gives for this shape, with the dimensions in this order in memory."""
    if all(before < after for before, after in pairwise(order)):
        return make(kind, shape)
    back = tuple(sorted(order, key=order.__getitem__))
    return kind.backend.xp.permute_dims(make(kind, tuple([shape[each] for each in order])), back)


zeros_like = _like("zeros_like", "Zeros of the shape, dtype, device and memory order of ``input``.", _xp_filled("zeros"))
ones_like = _like("ones_like", "Ones of the shape, dtype, device and memory order of ``input``.", _xp_filled("ones"))
empty_like = _like("empty_like", "Uninitialised elements, of the shape, dtype, device and memory order of ``input``.",
                   _xp_filled("empty"))


def _plain(value: Any) -> Any:
    """A number as Python has it, where it is in a tensor or of another library."""
    if type(value) in _NUMBERS:
        return value
    return value.item() if isinstance(value, Tensor) or is_library_scalar(value) else value


def _dtype_for(value: Any) -> Dtype:
    """The dtype of a tensor, or the one that a number gets."""
    return value.dtype if isinstance(value, Tensor) else dtypes.promotion_of_scalar(type(value))


def full(
    size: Sequence[int], fill_value: Number, *, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool | None = False, pin_memory: bool | None = False, names: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor with every element ``fill_value``; its dtype follows that of the value.

    >>> import flambeau as torch
    >>> torch.full((2,), 7), torch.full((), 1.5)
    (tensor([7, 7]), tensor(1.5000))
    """
    value = _plain(fill_value)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}")
    given = value if isinstance(fill_value, Tensor) else fill_value  # NumPy's True makes floats
    kind = _kind(dtype, device, _dtype_of(out) or dtypes.promotion_of_scalar(type(given)))
    shape = _checked_shape("full", (size,))
    made = wrap(kind.backend.on(kind.device.index).full(shape, converted(value, kind.dtype), dtype=kind.raw_dtype), kind)
    return _finish(made, requires_grad, out, pin_memory)


def full_like(
    input: Tensor, fill_value: Number, *, dtype: Dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool | None = False, memory_format: Any = None, pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """``fill_value`` everywhere, in the shape, dtype, device and memory order of ``input``."""
    kind = _options(input, dtype, device)
    array = _in_order(memory_order(input, memory_format), input._array.shape, kind,
                      lambda kind, shape: full(shape, fill_value, dtype=kind.dtype, device=kind.device)._array)  # fmt: skip
    return _finish(wrap(array, kind), requires_grad, pin_memory=pin_memory)


def scalar_tensor(
    s: Number, *, dtype: Dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """A number as a 0-d tensor, of the default dtype.

    >>> import flambeau as torch
    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    value = s if isinstance(s, Tensor) and s.ndim else _plain(s)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    kind = _kind(dtype, device)
    return full((), value, dtype=kind.dtype, device=kind.device, requires_grad=requires_grad, pin_memory=pin_memory)


def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool | None = False, pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """Uninitialised elements with the strides given."""
    size, stride = as_shape((size,)), as_shape((stride,))
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    flat = empty(extent, dtype=dtype, device=device)
    return _finish(flat.as_strided(size, stride), requires_grad, pin_memory=pin_memory)


def _range_dtype(*bounds: Any) -> Dtype:
    whole = all(isinstance(each, int) or _dtype_for(each).category <= dtypes.INTEGER for each in bounds)
    return dtypes.int64 if whole else dtypes.get_default_dtype()


def arange(
    start: Number | None = None, end: Number | None = None, step: Number = 1, *, out: Tensor | None = None,
    dtype: Dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """The numbers from ``start`` (or 0) up to, without, ``end``, by ``step``; integers if all three are.

    >>> import flambeau as torch
    >>> torch.arange(3), torch.arange(0, 1, 0.5)
    (tensor([0, 1, 2]), tensor([0.0000, 0.5000]))
    """
    if end is None:
        if start is None:
            raise TypeError('arange() missing 1 required positional arguments: "end"')
        start, end = 0, start
    elif start is None:
        start = 0
    default = _range_dtype(start, end, step)
    start, end, step = map(_plain, (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = _kind(dtype, device, _dtype_of(out) or default)
    if kind.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{kind.dtype.legacy_name}'")
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if kind.dtype is dtypes.int64:
        start, end, step = int(start), int(end), int(step)
        if not step:
            raise ValueError("step must be nonzero")
    length = max(0, math.ceil((end - start) / step))
    warn_of_length(out, length)
    return _progression(kind, start, step, length, out, requires_grad, pin_memory)


def warn_of_length(out: Tensor | None, length: int) -> None:
    """What ``arange`` says of an ``out`` that is not empty and has not so many elements."""
    if out is not None and out.numel() not in (0, length):
        import warnings

        warnings.warn(f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not "
                      f"match the computed number of elements {length}. Note that this may occur as a result of rounding error. "
                      f"The out tensor will be resized to a tensor of shape ({length},).", stacklevel=4)  # fmt: skip


def range(
    start: Number, end: Number | None = None, step: Number = 1, *, out: Tensor | None = None, dtype: Dtype | None = None,
    layout: Any = None, device: Any = None, requires_grad: bool | None = False,
) -> Tensor:  # fmt: skip
    """The numbers from ``start`` to ``end``, both included.  Deprecated in favour of :func:`arange`."""
    import warnings

    warnings.warn("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
                  "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
                  stacklevel=2)  # fmt: skip
    start, end = (0, start) if end is None else (start, end)
    if not step:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = _kind(dtype, device, _dtype_of(out))
    return _progression(kind, start, step, math.floor((end - start) / step) + 1, out, requires_grad)


def _progression(
    kind: Kind, start: Any, step: Any, length: int, out: Tensor | None, requires_grad: bool | None,
    pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    backend, index = kind.backend, kind.device.index or 0
    with backend.guard(index):
        if kind.dtype.category <= dtypes.INTEGER:
            array = backend.on(index).arange(length, dtype=backend.dtypes[dtypes.int64])
            if start or step != 1:
                array = array * int(step) + int(start)
        else:
            wide = backend.dtypes.get(dtypes.float64, kind.raw_dtype)
            array = backend.on(index).arange(length, dtype=wide) * step + start
        made = wrap(backend.astype(array, kind.raw_dtype), kind)
    return _in_a_row(made, requires_grad, out, pin_memory)


def _in_a_row(made: Tensor, requires_grad: bool | None, out: Tensor | None, pin_memory: bool | None) -> Tensor:
    """As ``_finish``, but an ``out`` of any shape is good that has as many elements."""
    if out is not None and out.numel() == made.numel():
        made = made.reshape(out.shape)
    return _finish(made, requires_grad, out, pin_memory)


def _ends(
    name: str, start: Any, end: Any, steps: int, dtype: Dtype | None, device: Any, out: Tensor | None
) -> tuple[Any, Any, Kind]:
    """Where to start and to end, in the kind of the elements between: complex where one of the two is.

    Raises:
        RuntimeError: the dtype given is not complex, and one of the two is.
    """
    start, end = _plain(start), _plain(end)
    default = None
    if isinstance(start, complex) or isinstance(end, complex):
        default = dtypes.get_default_dtype().to_complex()
        if dtype is not None and not dtypes.meant(dtype).is_complex:
            raise RuntimeError(f"torch.{name}(): inferred dtype {c_name(default)} can't be safely cast to passed dtype "
                               f"{dtypes.meant(dtype).legacy_name}")  # fmt: skip
    kind = _kind(dtype, device, _dtype_of(out) or default)
    held = kind.dtype if steps else dtypes.complex128  # where there are no elements, they may be any numbers
    return converted(start, held), converted(end, held), kind


def linspace(
    start: Tensor | Number, end: Tensor | Number, steps: int = 100, *, out: Tensor | None = None, dtype: Dtype | None = None,
    layout: Any = None, device: Any = None, requires_grad: bool | None = False, pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """``steps`` numbers from ``start`` to ``end``, both included, evenly spaced."""
    steps = as_int("linspace", "steps", steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end, kind = _ends("linspace", start, end, steps, dtype, device, out)
    _refuse_bools("linspace_cpu", kind.dtype, steps)
    step = (end - start) / max(steps - 1, 1)
    backend, index = kind.backend, kind.device.index or 0
    wide = backend.dtypes.get(dtypes.complex128 if isinstance(step, complex) else dtypes.float64, kind.raw_dtype)
    with backend.guard(index):
        xp = backend.on(index)
        position = xp.arange(steps, dtype=wide)
        array = xp.where(position < (steps + 1) // 2, start + step * position, end - step * (steps - 1 - position))  # symmetric
        made = wrap(backend.astype(array, kind.raw_dtype), kind)
    return _in_a_row(made, requires_grad, out, pin_memory)


def _refuse_bools(kernel: str, dtype: Dtype, steps: int) -> None:
    if dtype is dtypes.bool_ and steps > 1:
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def logspace(
    start: Tensor | Number, end: Tensor | Number, steps: int = 100, base: float = 10.0, *, out: Tensor | None = None,
    dtype: Dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """``base`` to the powers of :func:`linspace`."""
    steps = as_int("logspace", "steps", steps)
    start, end, kind = _ends("logspace", start, end, steps, dtype, device, out)
    _refuse_bools("logspace_cpu", kind.dtype, steps)
    exponents = linspace(start, end, steps, dtype=dtypes.complex128 if kind.dtype.is_complex else dtypes.float64, device=device)
    made = (float(base) ** exponents).to(kind.dtype)
    return _in_a_row(made, requires_grad, out, pin_memory)


def eye(
    n: int, m: int | None = None, *, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool | None = False, pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """Ones on the diagonal of an ``(n, m)`` matrix of zeros."""
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"n must be greater or equal to 0, got {n if n < 0 else m}")
    kind = _kind(dtype, device, _dtype_of(out))
    made = wrap(kind.backend.on(kind.device.index).eye(n, n if m is None else m, dtype=kind.raw_dtype), kind)
    return _finish(made, requires_grad, out, pin_memory)


for _function in (tensor, as_tensor, asarray, from_numpy, from_dlpack, frombuffer, full, full_like, scalar_tensor, empty_strided,
                  arange, range, linspace, logspace, eye):  # fmt: skip
    PUBLIC[_function.__name__] = _offered_to_modes(_function.__name__, _function)


# --- new_*: as an existing tensor ---------------------------------------------------------------------------------


def _new_filled(name: str, factory: Callable[..., Tensor]) -> None:
    def method(
        self: Tensor, size: Any, *rest: Any, dtype: Dtype | None = None, layout: Any = None, device: Any = None,
        requires_grad: bool | None = False, pin_memory: bool | None = False,
    ) -> Tensor:  # fmt: skip
        kind = _options(self, dtype, device)
        return factory(size, *rest, dtype=kind.dtype, device=kind.device, requires_grad=requires_grad, pin_memory=pin_memory)

    method.__name__ = method.__qualname__ = f"new_{name}"
    method.__doc__ = f"``torch.{name}(*size)`` with this tensor's dtype and device."
    setattr(Tensor, f"new_{name}", method)


for _name, _factory in (("zeros", zeros), ("ones", ones), ("empty", empty)):
    _new_filled(_name, _factory)


def _new_full(
    self: Tensor, size: Sequence[int], fill_value: Number, *, dtype: Dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool | None = False, pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """``torch.full(size, fill_value)`` with this tensor's dtype and device."""
    kind = _options(self, dtype, device)
    return full(size, fill_value, dtype=kind.dtype, device=kind.device, requires_grad=requires_grad, pin_memory=pin_memory)


def _new_tensor(
    self: Tensor, data: Any, *, dtype: Dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``torch.tensor(data)`` with this tensor's dtype and device."""
    kind = _options(self, dtype, device)
    return tensor(data, dtype=kind.dtype, device=kind.device, requires_grad=requires_grad)


def _new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], *, dtype: Dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool | None = False, pin_memory: bool | None = False,
) -> Tensor:  # fmt: skip
    """``torch.empty_strided(size, stride)`` with this tensor's dtype and device."""
    kind = _options(self, dtype, device)
    return empty_strided(size, stride, dtype=kind.dtype, device=kind.device, requires_grad=requires_grad, pin_memory=pin_memory)


def _new(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """The constructor of old: a tensor of this type from sizes or from data."""
    from .tensor_types import construct_as

    return construct_as(self.dtype, options.get("device") or self.device, args)


attach(new_full=as_method(_new_full), new_tensor=_new_tensor, new_empty_strided=as_method(_new_empty_strided), new=_new)
