"""Dtype functions of the array API: kinds, limits, promotion by the standard's table, and `__array_namespace_info__`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..engine.devices import devices
from ..engine.devices.devices import device
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..engine.values.dtypes import dtype

__all__ = ["__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_BY_KIND = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_GROUPS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


def _dtype_names_of_kind(kind: str) -> tuple[str, ...]:
    try:
        return tuple(name for member in _GROUPS.get(kind, (kind,)) for name in _BY_KIND[member])
    except KeyError:
        raise ValueError(f"unsupported kind {kind!r}: expected one of {[*_BY_KIND, *_GROUPS]}") from None


def isdtype(dtype: dtype, kind: dtype | str | tuple[dtype | str, ...]) -> bool:
    """Whether a dtype is `kind`: another dtype, a kind such as `"real floating"`, or any of a tuple of these.

    Half precision, which is not in the standard, counts as `"real floating"`.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if not isinstance(kind, str):
        return dtype is kind
    return dtype.name in _dtype_names_of_kind(kind) or (kind in ("real floating", "numeric") and dtype in dtypes.HALF)


def promote_dtypes(type1: dtype, type2: dtype) -> dtype:
    """Return the dtype that two dtypes promote to by the standard's table, which also covers uint16, uint32 and uint64."""
    if type1 is type2:
        return type1
    if type1.category != dtypes.INTEGER or type2.category != dtypes.INTEGER:
        return dtypes.promote_types(type1, type2)
    if type1.is_signed == type2.is_signed:
        return max(type1, type2, key=lambda d: d.itemsize)
    signed, unsigned = (type1, type2) if type1.is_signed else (type2, type1)
    size = max(signed.itemsize, 2 * unsigned.itemsize)
    if size > 8:
        raise TypeError(f"no integer dtype holds both {type1} and {type2}")
    return dtypes.BY_NAME[f"int{8 * size}"]


def promote_with_scalar(tensor_dtype: dtype, scalar: Any) -> dtype:
    """Return the result dtype of an operation between a tensor and a Python scalar.

    This is the tensor's dtype, unless the scalar is of a higher kind (bool < integer < floating < complex).
    """
    return dtypes.result_of([tensor_dtype], [], [dtypes.promotion_of_scalar(type(scalar))])


def result_type(*arrays_and_dtypes: Tensor | dtype | complex) -> dtype:
    """Return the dtype that tensors, dtypes and Python scalars promote to together."""
    operands = [operand.dtype if isinstance(operand, Tensor) else operand for operand in arrays_and_dtypes]
    tensor_dtypes = [operand for operand in operands if isinstance(operand, dtype)]
    if not tensor_dtypes:
        raise ValueError("result_type() needs at least one array or dtype")
    result = tensor_dtypes[0]
    for operand in tensor_dtypes[1:]:
        result = promote_dtypes(result, operand)
    for scalar in operands:
        if not isinstance(scalar, dtype):
            result = promote_with_scalar(result, scalar)
    return result


def can_cast(from_: dtype | Tensor, to: dtype, /) -> bool:
    """Whether `from_` can be cast to `to`: the two dtypes promote to `to`."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return promote_dtypes(source, to) is to
    except TypeError:
        return False


def astype(x: Tensor, dtype: dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """Convert the elements to another dtype (and device); with `copy=False`, return `x` itself if nothing changes."""
    return x.to(dtype=dtype, device=x.device if device is None else device, copy=copy)


@dataclass(frozen=True)
class FloatingPointLimits:
    """The result of `finfo`."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype


@dataclass(frozen=True)
class IntegerLimits:
    """The result of `iinfo`."""

    bits: int
    max: int
    min: int
    dtype: dtype


def finfo(type: dtype | Tensor, /) -> FloatingPointLimits:
    """Return the limits of a floating-point dtype; for a complex dtype, the limits of its real and imaginary parts."""
    input_dtype = type.dtype if isinstance(type, Tensor) else type
    limits = dtypes.finfo(input_dtype)
    return FloatingPointLimits(limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, input_dtype.to_real())


def iinfo(type: dtype | Tensor, /) -> IntegerLimits:
    """Return the limits of an integer dtype."""
    input_dtype = type.dtype if isinstance(type, Tensor) else type
    limits = dtypes.iinfo(input_dtype)
    return IntegerLimits(limits.bits, limits.max, limits.min, input_dtype)


class __array_namespace_info__:
    """Information about the array API namespace: capabilities, devices, and dtypes by kind."""

    def capabilities(self) -> dict[str, Any]:
        """Return the supported optional features, and the maximal number of dimensions, which is NumPy's (64)."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device:
        """Return the device on which arrays are created by default."""
        return devices.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """Return the default dtypes of floating-point, complex, integer and index arrays, by kind."""
        floating = dtypes.get_default_dtype()
        return {
            "real floating": floating,
            "complex floating": floating.to_complex(),
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, dtype]:
        """Return the standard's dtypes that the device supports, by name: all of them, or those of the given kind or kinds."""
        place = devices.get_default_device() if device is None else devices.device(device)
        offered = devices.dispatch_key(dtypes.bool_, place).backend.dtypes
        kinds = tuple(_BY_KIND) if kind is None else (kind,) if isinstance(kind, str) else kind
        names = [name for k in kinds for name in _dtype_names_of_kind(k)]
        return {name: dtypes.BY_NAME[name] for name in names if dtypes.BY_NAME[name] in offered}

    def devices(self) -> tuple[device, ...]:
        """Return the devices that have the type of the default device."""
        place = devices.get_default_device()
        if place.type == "cpu":
            return tuple(devices.canonical(device("cpu", n)) for n in range(devices.CPU_DEVICES))
        count = devices.dispatch_key(dtypes.float32, place).backend.device_count()
        return tuple(device(place.type, n) for n in range(count))
