"""Conversion of Python numbers to dtypes, with checks for overflow."""

from __future__ import annotations

import math
from struct import Struct
from typing import Any

from . import dtypes
from .dtypes import COMPLEX, FLOAT8, FLOATING, HALF, INTEGER, c_name, dtype

__all__ = ["LARGEST_SINGLE", "converted", "is_library_scalar", "overflow", "single", "too_large", "wrapped"]

_NARROW = HALF.union(FLOAT8)
LARGEST_SINGLE: float = dtypes.finfo(dtypes.float32).max
_LARGEST = {dtype: dtypes.finfo(dtype).max for dtype in _NARROW}  # not float64, which holds any Python float
_LARGEST |= dict.fromkeys((dtypes.float32, dtypes.complex32, dtypes.complex64), LARGEST_SINGLE)
_SINGLE = Struct("f")
_pack, _unpack = _SINGLE.pack, _SINGLE.unpack


def wrapped(value: Any, dtype: dtype) -> Any:
    """Convert an integer operand like a cast in C: an integer that is too large loses its upper bits.

    Raises:
        OverflowError: an integer has more than 64 bits.
    """
    if dtype.category != dtypes.INTEGER:
        return value
    _check_bits(value)
    bits = 8 * dtype.itemsize
    value &= 2**bits - 1
    return value - 2**bits if dtype.is_signed and value >> bits - 1 else value


def _check_bits(value: int) -> None:
    if not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")


def converted(value: Any, dtype: dtype, alone: bool = False) -> Any:
    """Convert a fill value: integer dtypes truncate fractions; unsigned dtypes wrap negative numbers around.

    Infinities and NaN fit every floating-point dtype; a finite number beyond the dtype's largest value does not.  Exception: if
    a single element is filled (`alone`) and the dtype has at most 16 bits, such a number becomes infinite.

    Raises:
        RuntimeError: the dtype cannot hold the value.
        OverflowError: the value is an integer of more than 64 bits.
    """
    category = dtype.category
    if isinstance(value, int):
        _check_bits(value)
        value = value if category < FLOATING else float(value)
    if dtype is dtypes.bool_:
        return bool(value)
    if category == COMPLEX:
        if too_large(value, dtype):
            raise overflow(dtype)
        return complex(value)
    if isinstance(value, complex):
        if value.imag:
            raise overflow(dtype)
        value = value.real
    if category == FLOATING:
        if too_large(value, dtype) and not (alone and dtype in _NARROW):
            raise overflow(dtype)
        return value
    limits = dtypes.iinfo(dtype)
    if isinstance(value, float) and not limits.min <= value <= limits.max:
        raise overflow(dtype)
    value = int(value)
    if not (limits.min or -limits.max) <= value <= limits.max:
        raise overflow(dtype)
    return wrapped(value, dtype)


def too_large(value: Any, dtype: dtype) -> bool:
    """Whether a finite number exceeds the largest value of a floating-point or complex dtype, or an integer exceeds int64."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return True
    largest = _LARGEST.get(dtype)
    if largest is None or (-largest <= value.real <= largest and -largest <= value.imag <= largest):
        return False
    return any(abs(part) > largest and math.isfinite(part) for part in (value.real, value.imag))


def overflow(dtype: dtype) -> RuntimeError:
    """Return the error for a value that does not fit into the dtype."""
    name = f"{dtype.name}_t" if dtype.category == INTEGER and dtype is not dtypes.int32 else c_name(dtype)
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def single(value: float) -> float:
    """Round a float to float32."""
    try:
        return _unpack(_pack(value))[0]  # type: ignore[no-any-return]  # the struct's one float
    except OverflowError:  # a float beyond float32 becomes infinite, as in C
        return math.copysign(math.inf, value)


def is_library_scalar(value: Any) -> bool:
    """Whether the value is a scalar of another library, such as NumPy's `float32(2)`; False for a tensor."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)) or hasattr(type(value), "__setitem__"):
        return False
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and not shape and hasattr(value, "item")  # mocks have an attribute for any name
