"""Remainders and rounded quotients.

NumPy has the C library compute each remainder, digit by digit. That of two singles follows from their quotient in double
precision: one below `2**28` that is no whole number differs from the nearest by `2**-24` or more, which rounding does not
reach, and the product of its whole part, of 28 bits, and the divisor, of 24, is exact; so is what that leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .kernels import INPLACE, KERNELS, UFUNCS
from .pieces import by_pairs_of_pieces
from .quiet import quiet

_FEW = 1 << 10  # elements up to which the C library is faster
_SIGN = np.array(-(1 << 31), np.int32)


def _quotients(x: Any, y: Any, limit: float) -> Any:
    """In double precision; None unless all are below the limit, and no divisor is infinite."""
    result = np.divide(x, y)
    return result if -limit < result.min() <= result.max() < limit and np.isfinite(y).all() else None


def _rest(out: Any, x: Any, y: Any, rounded: np.ufunc, signs: Any) -> bool:
    """Write `x - rounded(x / y) * y`, with the signs of an array also where that is 0; False where this is not exact."""
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
    if not _rest(out, x, y, np.trunc, x):
        np.fmod(x, y, out)


def _remainder(out: Any, x: Any, y: Any) -> None:
    if not _rest(out, x, y, np.floor, y):
        np.remainder(x, y, out)


def _floor_divide(out: Any, x: Any, y: Any) -> None:
    quotient = _quotients(x.astype(np.float64), y.astype(np.float64), 2.0**24)  # of which all whole numbers are single
    if quotient is None:
        np.floor_divide(x, y, out)
    else:
        np.floor(quotient, out, casting="same_kind")


def _truncate_quotient(input: Any, other: Any, *out: Any) -> Any:
    whole = other.dtype.kind in "iu"
    return np.floor_divide(input - np.fmod(input, other), other, *out) if whole else np.trunc(input / other, *out)


def _division(divide: Callable[..., Any], compute: Callable[..., None] | None = None) -> Callable[..., Any]:
    """The kernel that is `divide`, and for many numbers of single precision `compute`, a piece at a time."""
    by_pieces = quiet(by_pairs_of_pieces)

    def kernel(input: Any, other: Any, *out: Any) -> Any:
        dtype = other.dtype
        if dtype.kind in "iu" and not other.all() and input.size:
            raise RuntimeError("ZeroDivisionError")
        if compute is None or input.size <= _FEW or dtype != np.float32 or input.dtype != np.float32:
            return divide(input, other, *out)
        result = by_pieces(compute, input, other, width=2)
        if out:
            out[0][...] = result
        return result

    return kernel


for _name, _compute in {
    "fmod": _fmod, "remainder": _remainder, "floor_divide": _floor_divide, "trunc_divide": None,
}.items():  # fmt: skip
    KERNELS[_name] = _division(UFUNCS.get(_name, _truncate_quotient), _compute)
    INPLACE[_name] = quiet(lambda target, other, divide=KERNELS[_name]: divide(target, other, target))
