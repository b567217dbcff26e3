"""`lgamma`, `digamma`, `polygamma` and the Bessel function I0.

Single and half precision are computed in float64, so that cancellation near zeros does not affect the result.  Arguments are
shifted up by a constant, to a range in which an asymptotic series is short (Abramowitz and Stegun, "Handbook of Mathematical
Functions", 1964, 6.1.40, 6.3.18 and 23.2.7).  The factors of the shift form one polynomial.  float64 arguments use the forward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS
from flambeau.operations.special.gamma import (
    beta_grad,
    gamma_grad_by_integral,
    gamma_grad_by_series,
)

from .chunks import in_chunks, select
from .error_state import without_warnings
from .kernels import KERNELS, kernel
from .namespace import namespace
from .polynomials import polynomial

_SHIFT = 7  # integer added to arguments, so that the asymptotic series is short

# Fits in powers of 1 / z^2 for z >= 7. First: the remainder of Stirling's formula for log(gamma(z)), times z, to 1e-14. Second:
# the remainder of digamma(z) after log(z) - 1 / (2 z), times -z^2, to 1e-13.
_STIRLING = (
    7.535664060102699e-04,
    -5.937152981037516e-04,
    7.936398592779282e-04,
    -2.7777777500713648e-03,
    8.333333333332203e-02,
)
_DIGAMMA = (
    6.6229316352586845e-03,
    -4.150310239643316e-03,
    3.968136831799828e-03,
    -8.333333036876717e-03,
    8.333333333321251e-02,
)


def _register(name: str, compute: Callable[..., Any]) -> None:
    """Register a kernel that calls `compute` in float64; float64 arguments use the operation's forward."""
    forward = OPS[name].forward

    @without_warnings
    def kernel(input: Any, *params: Any) -> Any:
        def fill(out: Any, x: Any) -> None:
            out[...] = forward(np, x, *params) if x.dtype == np.float64 else compute(x.astype(np.float64), *params)

        return in_chunks(fill, input, width=2)

    KERNELS[name] = kernel


def _reflected(x: Any) -> tuple[Any, Any, Any]:
    """Return `x < 0.5`, the reflected arguments `max(x, 1 - x)`, and `pi / tan(pi x)`, for the reflection formulas."""
    cotangent = np.rint(x)
    np.subtract(x, cotangent, cotangent)
    cotangent *= math.pi
    np.tan(cotangent, cotangent)
    np.divide(math.pi, cotangent, cotangent)
    return x < 0.5, np.maximum(x, 1 - x), cotangent


# --- the logarithm ------------------------------------------------------------------------------------------------


def _lgamma_above(x: Any) -> Any:
    """Compute lgamma of nonnegative numbers."""
    z = x + _SHIFT
    result = np.log(z)
    result -= 1
    result *= z - 0.5
    product = x + 6  # x (x + 1) ... (x + 6): with u = x (x + 6), pairs of outer factors are u, u + 5, u + 8
    product *= x
    pair = product + 8
    pair *= product
    product += 5
    product *= pair
    product *= np.add(x, 3, pair)
    result -= np.log(product, product)
    inverse = np.reciprocal(z, z)
    result += polynomial(product, np.square(inverse, pair), _STIRLING) * inverse
    result += 0.5 * math.log(2 * math.pi) - 0.5
    return result


def _lgamma(x: Any) -> Any:
    if (x < 0).any():  # log(gamma(x) gamma(1 - x)) = log(pi / sin(pi x)), whose argument squared is pi^2 + cotangent^2
        below, above, cotangent = _reflected(x)
        result = _lgamma_above(above)
        cotangent *= cotangent
        cotangent += math.pi**2
        np.log(cotangent, cotangent)
        cotangent *= 0.5
        result = select(below, cotangent - result, result)
    else:
        result = _lgamma_above(x)
    result[np.isinf(x)] = np.inf
    result[x == 1] = 0  # exactly 0; rounding leaves 1e-15
    result[x == 2] = 0
    return result


_register("lgamma", _lgamma)

# --- its derivatives ----------------------------------------------------------------------------------------------


def _digamma_above(x: Any) -> Any:
    """Compute digamma of nonnegative numbers."""
    u = x + 6
    u *= x
    slope = polynomial(np.empty_like(u), u, (7, 119, 588, 720))  # derivative of the product in `_lgamma_above`
    product = polynomial(np.empty_like(u), u, (1, 13, 40))
    product *= u
    product *= np.add(x, 3, u)
    slope /= product
    z = x + _SHIFT
    result = np.log(z)
    result -= slope
    inverse = np.reciprocal(z, z)
    rest = polynomial(slope, np.square(inverse, product), _DIGAMMA)
    rest *= inverse
    rest += 0.5
    rest *= inverse
    result -= rest
    return result


def _digamma(x: Any) -> Any:
    if (x < 0).any():
        below, above, cotangent = _reflected(x)
        result = _digamma_above(above)
        result = select(below, result - cotangent, result)
        poles = np.isinf(cotangent) & (x <= 0)
        result[poles] = np.where(x[poles] < 0, np.nan, -1 / x[poles])
    else:
        result = _digamma_above(x)
    result[x == np.inf] = np.inf
    return result


_register("digamma", _digamma)

_TERMS = 5  # number of terms summed directly, and of coefficients of the Euler-Maclaurin formula for the rest
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66)  # the Bernoulli numbers B2, B4, ...
_HIGHEST = 30  # highest order of polygamma: above it, factorials and powers overflow float64 although their products do not


def _integer_power(x: Any, n: int) -> Any:
    result = x
    for bit in f"{n:b}"[1:]:
        result = result * result
        if bit == "1":
            result *= x
    return result


def _polygamma_above(x: Any, n: int) -> Any:
    """Compute `n! * sum((x + k)**-(n + 1) for k >= 0)` for nonnegative `x`: polygamma without its sign."""
    result = np.zeros_like(x)
    for k in range(_TERMS):
        z = np.add(x, k)  # turns -0 into 0, also for k = 0
        result += _integer_power(np.reciprocal(z, z), n + 1)
    z = x + _TERMS
    inverse = np.reciprocal(z, z)
    coefficients = [b * math.perm(n + 2 * j - 1, 2 * j - 1) / math.factorial(2 * j) for j, b in enumerate(_BERNOULLI, 1)]
    rest = polynomial(np.empty_like(x), np.square(inverse), coefficients[::-1])
    rest *= inverse
    rest += 0.5
    rest *= inverse
    rest += 1 / n
    rest *= _integer_power(inverse, n)
    result += rest
    result *= math.factorial(n)
    return result


def _polygamma(x: Any, n: int) -> Any:
    if n == 0:
        return _digamma(x)
    negative = (x < 0).any()
    if n > _HIGHEST or (n > 1 and negative):
        return OPS["polygamma_of"].forward(np, x, n)
    if not negative:
        result = _polygamma_above(x, n)
        return result if n % 2 else np.negative(result, result)
    below, above, cotangent = _reflected(x)
    result = _polygamma_above(above, 1)
    cotangent *= cotangent
    cotangent += math.pi**2
    return select(below, cotangent - result, result)


_register("polygamma_of", _polygamma)

# --- I0 -----------------------------------------------------------------------------------------------------------

# Fits for float32: I0(x) in powers of x^2 up to 8 (relative error 3e-10); beyond, I0(x) sqrt(x) exp(-x) in powers of 1 / x
# (2e-9).
_I0_NEAR = (
    1.356649178628555e-19,
    1.991310130569831e-17,
    1.0069593619463728e-14,
    2.372137037522552e-12,
    4.717999126381738e-10,
    6.780235143435642e-08,
    6.781830678387074e-06,
    4.340269618750738e-04,
    1.5625002161951645e-02,
    2.4999999796557856e-01,
    1.000000000280638,
)
_I0_FAR = (
    1.8277215848021742,
    -3.056457462553226e-01,
    8.512796032847193e-02,
    2.7250790602387946e-02,
    2.809481926685008e-02,
    4.986741903373014e-02,
    3.9894228089347694e-01,
)
_I0_EDGE, _I0_INFINITE = 8, 200  # above 200, I0 overflows float32


def _i0(x: Any) -> Any:
    size = np.abs(x)
    near = polynomial(np.empty_like(x), size * size, _I0_NEAR)
    beyond = size > _I0_EDGE
    if not beyond.any():
        return near
    np.clip(size, _I0_EDGE, _I0_INFINITE, size)
    inverse = 1 / size
    far = polynomial(np.empty_like(x), inverse, _I0_FAR)
    far *= np.sqrt(inverse, inverse)
    far *= np.exp(size, size)
    return select(beyond, far, near)


_register("i0", _i0)


# --- derivatives of samples: computed in chunks, since each integral is a sum over 18 to 40 points --------------------

_SAMPLES = 1 << 12  # number of samples per chunk


@kernel
def standard_gamma_grad(input: Any, sample: Any) -> Any:
    a, x = (array.astype(np.float64).ravel() for array in np.broadcast_arrays(input, sample))
    result, small = np.empty(a.shape), x < 1
    points = 40 if sample.dtype.itemsize == 8 else 20
    result[small] = _in_parts(partial(gamma_grad_by_series, namespace), a[small], x[small])
    result[~small] = _in_parts(partial(gamma_grad_by_integral, namespace, points=points), a[~small], x[~small])
    return result.reshape(np.broadcast_shapes(input.shape, sample.shape)).astype(sample.dtype)


@kernel
def dirichlet_grad(x: Any, alpha: Any, total: Any) -> Any:
    shape, dtype = np.broadcast_shapes(x.shape, alpha.shape, total.shape), x.dtype
    x, a, sums = (array.astype(np.float64).ravel() for array in np.broadcast_arrays(x, alpha, total))
    points = 36 if dtype.itemsize == 8 else 18
    return _in_parts(partial(beta_grad, namespace, points=points), x, a, sums - a).reshape(shape).astype(dtype)


def _in_parts(compute: Callable[..., Any], *arrays: Any) -> Any:
    parts = range(0, len(arrays[0]), _SAMPLES)
    results = [compute(*(array[start : start + _SAMPLES] for array in arrays)) for start in parts]
    return np.concatenate(results) if results else arrays[0]
