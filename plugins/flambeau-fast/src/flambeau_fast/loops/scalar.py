"""Scalar functions in a form that compilers vectorize, for fused loops; bitwise equal to `c/scalar.h`.

Polynomials are minimax or least-squares fits in single precision.  Errors are given as relative errors or in units in the last
place (ulp).

The text of this file is part of the cache key of compiled loops: after a change here, loops are compiled again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

# Products and sums may be fused within a function, as in the C kernels.  NaN and infinities are handled correctly.
inlined: Callable[..., Any] = numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})

f32 = np.float32

_LOG2_E = f32(1.4426950408889634)
_LEAST_LOG, _MOST_LOG = f32(-87), f32(88.7228)  # the exponential is normal and finite between these
_WHOLE_NUMBERS = f32(12582912)  # 1.5 * 2**23: adding it rounds to an integer, which is then in the low bits
_LN2_HIGH, _LN2_LOW = f32(0.693359375), f32(-2.12194440e-4)
_TANH_IS_ONE = f32(7.90531110763549805)
_SQRT_HALF = f32(0.7071067811865476)
_SCALE, _CUBE = f32(0.7978845608028654), f32(0.044715)  # constants of tanh GELU: sqrt(2 / pi), and the cubic coefficient
_DENSITY = f32(0.3989422804014327)  # density of the standard normal distribution at 0


@inlined
def power_of_two(k):
    """Return `2 ** k` for a small integer `k`, by setting the exponent bits."""
    return np.int32((k + np.int32(127)) << np.int32(23)).view(np.float32)


@inlined
def _exp_of_rest(x, k):
    """Return `exp(x - k * log(2))` by a polynomial from Moshier's Cephes; `k` must make the difference small."""
    r = x - k * _LN2_HIGH
    r = r - k * _LN2_LOW
    p = f32(1.9875691500e-4)
    p = p * r + f32(1.3981999507e-3)
    p = p * r + f32(8.3334519073e-3)
    p = p * r + f32(4.1665795894e-2)
    p = p * r + f32(1.6666665459e-1)
    p = p * r + f32(5.0000001201e-1)
    return p * (r * r) + r + f32(1)


@inlined
def exp(x):
    """Compute the exponential with an error up to 1 ulp; correct for infinite and denormal results and NaN."""
    x = f32(128) if x > f32(128) else (f32(-128) if x < f32(-128) else x)
    k = np.floor(x * _LOG2_E + f32(0.5))
    whole = np.int32(k)
    half = whole >> np.int32(1)
    return _exp_of_rest(x, k) * power_of_two(half) * power_of_two(whole - half)


@inlined
def _exp_above(x):
    """Return `exp(x)`, infinite above the largest finite result and at least `exp(-87)`: for sums with larger numbers."""
    bounded = _LEAST_LOG if x < _LEAST_LOG else x
    shifted = bounded * _LOG2_E + _WHOLE_NUMBERS
    rest = f32(_exp_of_rest(bounded, shifted - _WHOLE_NUMBERS)).view(np.int32)
    bits = np.int32(rest + np.int32(f32(shifted).view(np.int32) << np.int32(23)))
    return np.int32(bits).view(np.float32) if bounded <= _MOST_LOG else bounded + f32(np.inf)


@inlined
def sigmoid(x):
    return f32(1) / (f32(1) + _exp_above(-x))


@inlined
def tanh(x):
    """Compute tanh with an error up to 3 ulp, by a rational approximation (from Eigen); constant 1 beyond 7.9."""
    size = _TANH_IS_ONE if x > _TANH_IS_ONE else (-_TANH_IS_ONE if x < -_TANH_IS_ONE else x)
    s = size * size
    p = f32(-2.76076847742355e-16)
    p = p * s + f32(2.00018790482477e-13)
    p = p * s + f32(-8.60467152213735e-11)
    p = p * s + f32(5.12229709037114e-08)
    p = p * s + f32(1.48572235717979e-05)
    p = p * s + f32(6.37261928875436e-04)
    p = p * s + f32(4.89352455891786e-03)
    q = f32(1.19825839466702e-06)
    q = q * s + f32(1.18534705686654e-04)
    q = q * s + f32(2.26843463243900e-03)
    q = q * s + f32(4.89352518554385e-03)
    return f32(1) if x > _TANH_IS_ONE else (f32(-1) if x < -_TANH_IS_ONE else size * p / q)


@inlined
def erf(x):
    """Compute erf with a relative error up to 3e-7, as `x * P(x**2) / Q(x**2)` up to 4; constant 1 beyond."""
    x = f32(4) if x > f32(4) else (f32(-4) if x < f32(-4) else x)
    s = x * x
    p = f32(-2.72614225801306e-10)
    p = p * s + f32(2.77068142495902e-08)
    p = p * s + f32(-2.10102402082508e-06)
    p = p * s + f32(-5.69250639462346e-05)
    p = p * s + f32(-7.34990630326855e-04)
    p = p * s + f32(-2.95459980854025e-03)
    p = p * s + f32(-1.60960333262415e-02)
    q = f32(-1.45660718464996e-05)
    q = q * s + f32(-2.13374055278905e-04)
    q = q * s + f32(-1.68282697438203e-03)
    q = q * s + f32(-7.37332916720468e-03)
    q = q * s + f32(-1.42647390514189e-02)
    return x * p / q


@inlined
def normal_share_below(x):
    """Compute the cumulative distribution function of the standard normal distribution."""
    return f32(0.5) + f32(0.5) * erf(x * _SQRT_HALF)


@inlined
def normal_density(x):
    return _DENSITY * exp(f32(-0.5) * x * x)


# --- activations and their gradients ---


@inlined
def silu(x):
    return x * sigmoid(x)


@inlined
def silu_backward(g, x):
    s = sigmoid(x)
    return g * s * (f32(1) + x * (f32(1) - s))


@inlined
def gelu(x):
    return x * normal_share_below(x)


@inlined
def gelu_backward(g, x):
    return g * (normal_share_below(x) + x * normal_density(x))


@inlined
def _bent(x):
    return tanh(_SCALE * x * (f32(1) + _CUBE * x * x))


@inlined
def gelu_tanh(x):
    return f32(0.5) * x * (f32(1) + _bent(x))


@inlined
def gelu_tanh_backward(g, x):
    t = _bent(x)
    steep = _SCALE * (f32(1) + f32(3) * _CUBE * x * x)
    return g * f32(0.5) * (f32(1) + t + x * (f32(1) - t * t) * steep)
