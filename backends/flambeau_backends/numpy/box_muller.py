"""Normal values from uniform ones (Box & Muller 1958), equal to PyTorch's in every bit.

PyTorch computes single precision with Cephes' polynomials for the logarithm, the sine and the cosine, in fused
multiply-adds. A fused multiply-add of singles is computed here in doubles: the product is exact, and the sum is
rounded to a single by a cast. It is rounded twice, then; but uniform singles are multiples of 2**-24, and for all of
these the result was compared with that of the instruction. Double precision is computed by the C library, on both sides.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["directions", "draw", "radii"]

draw: Any = None  # a kernel pack's function that fills a vector from an engine's state; it replaces the two others, too


def _singles(*values: float) -> list[Any]:
    """0-d arrays, which ufuncs take faster than Python numbers."""
    return [np.array(value, np.float32) for value in values]


def _rounded(*values: float) -> list[Any]:
    """Singles, held as doubles."""
    return [value.astype(np.float64) for value in _singles(*values)]


_LOG = _rounded(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SIN = _rounded(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _rounded(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_LN2 = _singles(0.693359375, -2.12194440e-4)  # ln 2 and pi / 4 as sums: multiples of the first have no rounding error
_PI_4 = _singles(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
_HALF, _ONE, _MINUS_TWO, _FOUR_BY_PI, _TWO_PI = _singles(0.5, 1, -2, 4 / math.pi, 2 * math.pi)
_ROOT_HALF = np.array(np.float32(math.sqrt(0.5))).view(np.int32)  # its bits
_1, _2, _EVEN, _MANTISSA, _SIGN = (np.array(bits, np.int32) for bits in (1, 2, ~1, 23, 29))


def radii(uniform: Any) -> Any:
    """`sqrt(-2 * log(1 - uniform))`; in place, in single or double precision."""
    if uniform.dtype.itemsize == 8:
        np.subtract(1.0, uniform, uniform)
        uniform[...] = np.fromiter(map(math.log, uniform.ravel().tolist()), float, uniform.size).reshape(uniform.shape)
        uniform *= -2.0
    else:
        _log(np.subtract(_ONE, uniform, uniform))
        uniform *= _MINUS_TWO
    return np.sqrt(uniform, uniform)


def directions(uniform: Any) -> tuple[Any, Any]:
    """Cosine and sine of `2 * pi * uniform`; overwrites `uniform`."""
    if uniform.dtype.itemsize == 8:
        uniform *= 2 * math.pi
        return np.cos(uniform), np.sin(uniform, uniform)
    uniform *= _TWO_PI
    return _cos_and_sin(uniform)


def _polynomial(x: Any, coefficients: list[Any]) -> Any:
    """Horner's scheme in fused multiply-adds: `x` are doubles, the result, like each step, is rounded to singles."""
    first, second, *others = coefficients
    total = x * first
    total += second
    single = total.astype(np.float32)
    for coefficient in others:
        total[...] = single
        total *= x
        total += coefficient
        single[...] = total
    return single


def _log(x: Any) -> None:
    """The logarithm of singles above 0; in place."""
    bits = x.view(np.int32)
    exponent = bits - _ROOT_HALF
    exponent >>= _MANTISSA
    bits -= exponent << _MANTISSA  # now x is between the roots of 1/2 and 2
    x -= _ONE
    power = exponent.astype(np.float32)
    square = x * x
    wide = x.astype(np.float64)
    result = _polynomial(wide, _LOG)
    result *= x
    wide[...] = result
    wide *= square
    wide += power * _LN2[1]
    result[...] = wide
    square *= _HALF
    result -= square
    x += result
    power *= _LN2[0]
    x += power


def _cos_and_sin(x: Any) -> tuple[Any, Any]:
    """Cosine and sine of singles from 0 to 2 pi; overwrites `x`."""
    octant = (x * _FOUR_BY_PI).astype(np.int32)
    octant += _1
    octant &= _EVEN  # a quarter of a turn is two octants
    turned = octant.astype(np.float32)
    x -= turned * _PI_4[0]
    x -= turned * _PI_4[1]
    wide = turned.astype(np.float64)
    wide *= -_PI_4[2].astype(np.float64)
    wide += x
    x[...] = wide

    square = x * x
    squares = square.astype(np.float64)
    sin = _polynomial(squares, _SIN)
    sin *= square
    total = sin.astype(np.float64)
    wide[...] = x
    total *= wide
    total += wide
    sin[...] = total

    cos = _polynomial(squares, _COS)
    cos *= square
    squares *= cos
    square *= _HALF
    squares -= square
    cos[...] = squares
    cos += _ONE
    return _turn(cos, sin, octant)


def _turn(cos: Any, sin: Any, octant: Any) -> tuple[Any, Any]:
    """Cosine and sine after as many quarters of a turn as `octant` has twos; in place."""
    cos_bits, sin_bits = cos.view(np.int32), sin.view(np.int32)
    odd = octant << (_SIGN + _1)  # the bit for 2 becomes the sign, and the sign, shifted down, a mask
    odd >>= np.array(31, np.int32)
    odd &= cos_bits ^ sin_bits
    cos_bits ^= odd
    sin_bits ^= odd
    octant &= ~_1
    sign = octant + _2
    sign &= np.array(4, np.int32)
    octant &= np.array(4, np.int32)
    octant <<= _SIGN
    sign <<= _SIGN
    sin_bits ^= octant
    cos_bits ^= sign
    return cos, sin
