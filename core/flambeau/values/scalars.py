"""Conversion of Python numbers to dtypes that may not be able to hold them."""

from __future__ import annotations

import math
from struct import Struct
from typing import Any

from . import dtypes
from .dtypes import COMPLEX, FLOATING, dtype

__all__ = ["converted", "is_library_scalar", "overflow", "single", "wrapped"]

_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "bool": "bool",
}
_LARGEST_FLOAT = dtypes.finfo(dtypes.float32).max
_SINGLE = Struct("f")
_pack, _unpack = _SINGLE.pack, _SINGLE.unpack


def wrapped(value: Any, dtype: dtype) -> Any:
    """An operand converted as by a cast in C: an integer that is too large loses its upper bits.

    Raises:
        OverflowError: it has more than 64 bits.
    """
    if dtype.category != dtypes.INTEGER:
        return value
    if not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert")
    bits = 8 * dtype.itemsize
    value &= 2**bits - 1
    return value - 2**bits if dtype.is_signed and value >> bits - 1 else value


def converted(value: Any, dtype: dtype) -> Any:
    """A value to fill a tensor with: for integers, fractions are truncated; for unsigned integers, negative numbers wrap around.

    Raises:
        RuntimeError: the dtype cannot hold the value.
    """
    category = dtype.category
    if category == COMPLEX:
        return value
    if dtype is dtypes.bool_:
        return bool(value)
    if isinstance(value, complex):
        if value.imag:
            raise overflow(dtype)
        value = value.real
    if category == FLOATING:
        if dtype is dtypes.float32 and not -_LARGEST_FLOAT <= value <= _LARGEST_FLOAT and abs(value) < math.inf:
            raise overflow(dtype)
        return value
    limits = dtypes.iinfo(dtype)
    if isinstance(value, float) and not limits.min <= value <= limits.max:
        raise overflow(dtype)
    value = int(value)
    if not (limits.min or -limits.max) <= value <= limits.max:
        raise overflow(dtype)
    return wrapped(value, dtype)


def overflow(dtype: dtype) -> RuntimeError:
    """The error for a value that does not fit into the dtype."""
    name = _C_NAMES.get(dtype.name, dtype.name + "_t")
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def single(value: float) -> float:
    """Rounded to single precision."""
    try:
        return _unpack(_pack(value))[0]  # type: ignore[no-any-return]  # the struct's one float
    except OverflowError:  # as by a cast in C
        return math.copysign(math.inf, value)


def is_library_scalar(value: Any) -> bool:
    """Whether this is a scalar of another library, such as NumPy's `float32(2)`; never true for a tensor."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)) or hasattr(type(value), "__setitem__"):
        return False
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and not shape and hasattr(value, "item")  # what stands for a tensor may answer to any name
