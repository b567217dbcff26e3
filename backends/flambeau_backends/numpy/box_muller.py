"""Normal values from uniform ones by the Box-Muller transform (1958), bitwise equal to PyTorch's.

PyTorch evaluates Cephes' float32 polynomials for log, sin and cos with fused multiply-adds.  Here a float32 FMA is computed in
float64: the product is exact, and the sum is rounded to float64 and then to float32.  The double rounding makes no difference:
uniform float32 values are multiples of 2**-24, and the result was compared with the FMA instruction for all of them.  float64
values are computed by the C library, as in PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["directions", "draw", "radii"]

draw: Any = None  # set by a kernel pack: a function that fills a vector with normal values, given the random engine's state


def _singles(*values: float) -> list[Any]:
    """Return 0-d float32 arrays, which ufuncs accept faster than Python numbers."""
    return [np.array(value, np.float32) for value in values]


def _rounded(*values: float) -> list[Any]:
    """Return values rounded to float32, as 0-d float64 arrays."""
    return [value.astype(np.float64) for value in _singles(*values)]


_LOG = _rounded(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SIN = _rounded(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _rounded(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_LN2 = _singles(0.693359375, -2.12194440e-4)  # ln 2 and pi / 4 as sums of parts; products with the first part are exact
_PI_4 = _singles(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
_HALF, _ONE, _MINUS_TWO, _FOUR_BY_PI, _TWO_PI = _singles(0.5, 1, -2, 4 / math.pi, 2 * math.pi)
_ROOT_HALF = np.array(np.float32(math.sqrt(0.5))).view(np.int32)  # bits of sqrt(1 / 2)
_1, _2, _EVEN, _MANTISSA, _SIGN = (np.array(bits, np.int32) for bits in (1, 2, ~1, 23, 29))


def radii(uniform: Any) -> Any:
    """Compute `sqrt(-2 * log(1 - uniform))` in place, for float32 or float64."""
    if uniform.dtype.itemsize == 8:
        np.subtract(1.0, uniform, uniform)
        uniform[...] = np.fromiter(map(math.log, uniform.ravel().tolist()), float, uniform.size).reshape(uniform.shape)
        uniform *= -2.0
    else:
        _log(np.subtract(_ONE, uniform, uniform))
        uniform *= _MINUS_TWO
    return np.sqrt(uniform, uniform)


def directions(uniform: Any) -> tuple[Any, Any]:
    """Return cos and sin of `2 * pi * uniform`; overwrites `uniform`."""
    if uniform.dtype.itemsize == 8:
        uniform *= 2 * math.pi
        return np.cos(uniform), np.sin(uniform, uniform)
    uniform *= _TWO_PI
    return _cos_and_sin(uniform)


def _polynomial(x: Any, coefficients: list[Any]) -> Any:
    """Evaluate a polynomial by Horner's rule, rounding each step to float32; `x` is float64, the result float32."""
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
    """Replace positive float32 values by their logarithms."""
    bits = x.view(np.int32)
    exponent = bits - _ROOT_HALF
    exponent >>= _MANTISSA
    bits -= exponent << _MANTISSA  # now sqrt(1 / 2) <= x < sqrt(2)
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
    """Return cos and sin of float32 values in [0, 2 pi]; overwrites `x`."""
    octant = (x * _FOUR_BY_PI).astype(np.int32)
    octant += _1
    octant &= _EVEN  # round the octant to an even number: two octants are a quarter turn
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
    """Rotate cos and sin by `octant / 2` quarter turns, in place."""
    cos_bits, sin_bits = cos.view(np.int32), sin.view(np.int32)
    odd = octant << (_SIGN + _1)  # moves bit 1 to the sign bit; an arithmetic shift then makes a mask
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
