"""Remainders and rounded quotients.

NumPy computes each remainder by the C library, which divides digit by digit.  For float32 the remainder is computed from the
float64 quotient instead.  A non-integer quotient below `2**28` differs from the nearest integer by at least `2**-24`, more than
its rounding error.  The product of its integer part (28 bits) and the divisor (24 bits) is exact, and so is the remainder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .chunks import in_chunk_pairs
from .error_state import without_warnings
from .kernels import INPLACE, KERNELS, UFUNCS

_SMALL_SIZE = 1 << 10  # number of elements up to which the C library is faster
_SIGN = np.array(-(1 << 31), np.int32)


def _quotients(x: Any, y: Any, limit: float) -> Any:
    """Return `x / y` in float64; None unless all quotients are below the limit in magnitude and all divisors are finite."""
    result = np.divide(x, y)
    return result if -limit < result.min() <= result.max() < limit and np.isfinite(y).all() else None


def _exact_remainder(out: Any, x: Any, y: Any, rounded: np.ufunc, signs: Any) -> bool:
    """Write `x - rounded(x / y) * y` to `out`, zeros with the signs of `signs`; return False if that would be inexact."""
    rest, divisor = x.astype(np.float64), y.astype(np.float64)
    product = _quotients(rest, divisor, 2.0**28)
    if product is None:
        return False
    rounded(product, product)
    product *= divisor
    rest -= product
    out[...] = rest
    bits = out.view(np.int32)
    bits |= np.bitwise_and(signs.view(np.int32), _SIGN)
    return True


def _fmod(out: Any, x: Any, y: Any) -> None:
    if not _exact_remainder(out, x, y, np.trunc, x):
        np.fmod(x, y, out)


def _remainder(out: Any, x: Any, y: Any) -> None:
    if not _exact_remainder(out, x, y, np.floor, y):
        np.remainder(x, y, out)


def _floor_divide(out: Any, x: Any, y: Any) -> None:
    quotient = _quotients(x.astype(np.float64), y.astype(np.float64), 2.0**24)  # float32 represents all integers below 2**24
    if quotient is None:
        np.floor_divide(x, y, out)
    else:
        np.floor(quotient, out, casting="same_kind")


def _truncate_quotient(input: Any, other: Any, *out: Any) -> Any:
    whole = other.dtype.kind in "iu"
    return np.floor_divide(input - np.fmod(input, other), other, *out) if whole else np.trunc(input / other, *out)


def _division(divide: Callable[..., Any], compute: Callable[..., None] | None = None) -> Callable[..., Any]:
    """Return a kernel that calls `divide`, or for large float32 arrays `compute` chunk by chunk."""
    in_chunks = without_warnings(in_chunk_pairs)

    def kernel(input: Any, other: Any, *out: Any) -> Any:
        dtype = other.dtype
        if dtype.kind in "iu" and not other.all() and input.size:
            raise RuntimeError("ZeroDivisionError")
        if compute is None or input.size <= _SMALL_SIZE or dtype != np.float32 or input.dtype != np.float32:
            return divide(input, other, *out)
        result = in_chunks(compute, input, other, width=2)
        if out:
            out[0][...] = result
        return result

    return kernel


for _name, _compute in {
    "fmod": _fmod, "remainder": _remainder, "floor_divide": _floor_divide, "trunc_divide": None,
}.items():  # fmt: skip
    KERNELS[_name] = _division(UFUNCS.get(_name, _truncate_quotient), _compute)
    INPLACE[_name] = without_warnings(lambda target, other, divide=KERNELS[_name]: divide(target, other, target))
