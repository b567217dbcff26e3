"""Data types: kinds, limits, promotion by the standard's table, and what the namespace can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..runtime import devices
from ..runtime.devices import device
from ..tensors.tensor import Tensor
from ..values import dtypes
from ..values.dtypes import dtype

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


def _of_kind(kind: str) -> tuple[str, ...]:
    try:
        return tuple(name for each in _GROUPS.get(kind, (kind,)) for name in _BY_KIND[each])
    except KeyError:
        raise ValueError(f"unsupported kind {kind!r}: expected one of {[*_BY_KIND, *_GROUPS]}") from None


def isdtype(dtype: dtype, kind: dtype | str | tuple[dtype | str, ...]) -> bool:
    """Whether a dtype is another, is of a kind such as `"real floating"`, or is any of several of these.

    Half precision is not of the standard; it is `"real floating"` all the same.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if not isinstance(kind, str):
        return dtype is kind
    return dtype.name in _of_kind(kind) or (kind in ("real floating", "numeric") and dtype in dtypes.HALF)


def promoted(type1: dtype, type2: dtype) -> dtype:
    """The dtype that holds both, by the standard's table (PyTorch has no rule for the wider unsigned integers)."""
    if type1 is type2:
        return type1
    if type1.category != dtypes.INTEGER or type2.category != dtypes.INTEGER:
        return dtypes.promote_types(type1, type2)
    if type1.is_signed == type2.is_signed:
        return max(type1, type2, key=lambda each: each.itemsize)
    signed, unsigned = (type1, type2) if type1.is_signed else (type2, type1)
    size = max(signed.itemsize, 2 * unsigned.itemsize)
    if size > 8:
        raise TypeError(f"no integer dtype holds both {type1} and {type2}")
    return dtypes.BY_NAME[f"int{8 * size}"]


def with_scalar(tensor_dtype: dtype, scalar: Any) -> dtype:
    """The dtype of an operation between a tensor and a Python scalar: the tensor's, unless the scalar is of a higher kind."""
    return dtypes.result_of([tensor_dtype], [], [dtypes.promotion_of_scalar(type(scalar))])


def result_type(*arrays_and_dtypes: Tensor | dtype | complex) -> dtype:
    """The dtype that tensors, dtypes and Python scalars promote to together."""
    found = [each.dtype if isinstance(each, Tensor) else each for each in arrays_and_dtypes]
    given = [each for each in found if isinstance(each, dtype)]
    if not given:
        raise ValueError("result_type() needs at least one array or dtype")
    result = given[0]
    for each in given[1:]:
        result = promoted(result, each)
    for scalar in found:
        if not isinstance(scalar, dtype):
            result = with_scalar(result, scalar)
    return result


def can_cast(from_: dtype | Tensor, to: dtype, /) -> bool:
    """Whether promotion of the two gives `to`."""
    given = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return promoted(given, to) is to
    except TypeError:
        return False


def astype(x: Tensor, dtype: dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The elements as another dtype (on another device); without `copy`, `x` itself where nothing changes."""
    return x.to(dtype=dtype, device=x.device if device is None else device, copy=copy)


@dataclass(frozen=True)
class FloatingPointLimits:
    """What `finfo` gives."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype


@dataclass(frozen=True)
class IntegerLimits:
    """What `iinfo` gives."""

    bits: int
    max: int
    min: int
    dtype: dtype


def finfo(type: dtype | Tensor, /) -> FloatingPointLimits:
    """The limits of a floating-point dtype; of its parts, for a complex one."""
    given = type.dtype if isinstance(type, Tensor) else type
    found = dtypes.finfo(given)
    return FloatingPointLimits(found.bits, found.eps, found.max, found.min, found.smallest_normal, given.to_real())


def iinfo(type: dtype | Tensor, /) -> IntegerLimits:
    """The limits of an integer dtype."""
    given = type.dtype if isinstance(type, Tensor) else type
    found = dtypes.iinfo(given)
    return IntegerLimits(found.bits, found.max, found.min, given)


class __array_namespace_info__:
    """What the namespace has: capabilities, devices, and dtypes by kind."""

    def capabilities(self) -> dict[str, Any]:
        """Masks as an index and data-dependent shapes are there; dimensions as many as NumPy's."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device:
        """Where arrays are created if no device is given."""
        return devices.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """The dtypes of arrays made from Python scalars, and of indices."""
        floating = dtypes.get_default_dtype()
        return {
            "real floating": floating,
            "complex floating": floating.to_complex(),
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, dtype]:
        """The standard's dtypes that the device has, by name: of all kinds, of one, or of several."""
        place = devices.get_default_device() if device is None else devices.device(device)
        offered = devices.dispatch_key(dtypes.bool_, place).backend.dtypes
        kinds = tuple(_BY_KIND) if kind is None else (kind,) if isinstance(kind, str) else kind
        names = [name for each in kinds for name in _of_kind(each)]
        return {name: dtypes.BY_NAME[name] for name in names if dtypes.BY_NAME[name] in offered}

    def devices(self) -> tuple[device, ...]:
        """The devices of the default backend."""
        place = devices.get_default_device()
        if place.type == "cpu":
            return tuple(devices.canonical(device("cpu", n)) for n in range(devices.CPU_DEVICES))
        count = devices.dispatch_key(dtypes.float32, place).backend.device_count()
        return tuple(device(place.type, n) for n in range(count))
