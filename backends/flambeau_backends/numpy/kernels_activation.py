"""Smooth activations and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.operations.special import error_function

from .chunks import in_chunks
from .constants import number
from .error_state import without_warnings
from .kernels import clip, kernel
from .polynomials import polynomial

# --- sigmoid and SiLU ---------------------------------------------------------------------------------------------


def _reciprocal_sigmoid(out: Any, x: Any) -> None:
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, number(1, x.dtype), out)


def _sigmoid(out: Any, x: Any) -> None:
    _reciprocal_sigmoid(out, x)
    np.reciprocal(out, out)


@kernel
@without_warnings
def sigmoid(input: Any) -> Any:
    return in_chunks(_sigmoid, input)


@kernel
@without_warnings
def silu(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _reciprocal_sigmoid(out, x)
        np.divide(x, out, out)

    return in_chunks(compute, input)


@kernel
@without_warnings
def silu_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, grad: Any, x: Any) -> None:
        _sigmoid(out, x)
        factor = 1 - out
        factor *= x
        factor += 1
        out *= factor
        out *= grad

    return in_chunks(compute, g, input)


# --- Mish ---------------------------------------------------------------------------------------------------------

# With `e = exp(x)` and `n = e (e + 2)`, `tanh(log(1 + e)) = n / (n + 2)`: no tanh or log1p, and no cancellation.

_FLAT = 20.0  # above this, tanh(softplus(x)) rounds to 1, even in float64


def _tanh_ratio_numerator(e: Any) -> Any:
    """Return `e * (e + 2)`."""
    result = e + number(2, e.dtype)
    return np.multiply(result, e, result)


@kernel
@without_warnings
def mish(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        clip(out, x, None, number(_FLAT, x.dtype))
        bent = _tanh_ratio_numerator(np.exp(out, out))
        np.add(bent, number(2, x.dtype), out)
        np.divide(bent, out, out)
        np.multiply(out, x, out)

    return in_chunks(compute, input)


@kernel
@without_warnings
def mish_backward(g: Any, input: Any) -> Any:
    """Compute `g (n + 4 x (n - e) / (n + 2)) / (n + 2)` with `e = exp(x)` and `n = e (e + 2)`."""

    def compute(out: Any, grad: Any, x: Any) -> None:
        dtype = x.dtype
        low = clip(np.empty_like(x), x, None, number(_FLAT, dtype))
        bent = _tanh_ratio_numerator(np.exp(low, out))
        np.subtract(bent, out, out)
        out *= low
        out *= number(4, dtype)
        scale = np.add(bent, number(2, dtype), low)
        out /= scale
        out += bent
        out /= scale
        out *= grad
        if not x.max(initial=0) < np.inf:  # for x = inf, the formula computes inf * 0, which is NaN
            np.copyto(out, np.nan, where=x == np.inf)

    return in_chunks(compute, g, input)


# --- the error function and GELU ----------------------------------------------------------------------------------

# A fit for float32: erf(x) = tanh(x P(x^2)) with relative error 1e-8.  P is positive everywhere, so that large x need no
# clipping.
_ERF = (
    1.78659507e-10,
    -8.46649145e-09,
    1.56127666e-07,
    -1.2887825e-06,
    1.32577626e-06,
    6.93228251e-05,
    -5.95310531e-04,
    -2.06651655e-04,
    1.02772164e-01,
    1.12837918,
)

# A fit for float32: the standard normal CDF is 1 / (1 + exp(x P(x^2))), with absolute error 3e-8.
_P = (
    -3.51234122e-09,
    2.64526672e-07,
    -7.92948876e-06,
    1.10613187e-04,
    6.51899518e-05,
    -7.26661692e-02,
    -1.595769882,
)


def _erf(out: Any, x: Any) -> None:
    if x.dtype != np.float32:
        out[...] = error_function.erf_forward(np, x)
        return
    polynomial(out, np.square(x), _ERF)
    np.multiply(out, x, out)
    np.tanh(out, out)


@kernel
@without_warnings
def erf(input: Any) -> Any:
    return in_chunks(_erf, input)


def _reciprocal_normal_cdf(out: Any, x: Any, square: Any) -> None:
    """Write `1 / cdf(x)` of the standard normal distribution to `out`, for float32; `square` is `x * x`."""
    polynomial(out, square, _P)
    np.multiply(out, x, out)
    np.exp(out, out)
    np.add(out, number(1, x.dtype), out)


def _normal_cdf(out: Any, x: Any) -> None:
    """Write the standard normal CDF to `out`, computed with the error function."""
    dtype = x.dtype
    _erf(out, x * dtype.type(math.sqrt(0.5)))
    np.add(out, number(1, dtype), out)
    np.multiply(out, number(0.5, dtype), out)


def _gelu(out: Any, x: Any) -> None:
    if x.dtype == np.float32:
        _reciprocal_normal_cdf(out, x, np.square(x))
        np.divide(x, out, out)
    else:
        _normal_cdf(out, x)
        np.multiply(out, x, out)


@kernel
@without_warnings
def gelu(input: Any) -> Any:
    return in_chunks(_gelu, input)


@kernel
@without_warnings
def gelu_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, grad: Any, x: Any) -> None:
        density = np.square(x)
        if x.dtype == np.float32:
            _reciprocal_normal_cdf(out, x, density)
            np.reciprocal(out, out)
        else:
            _normal_cdf(out, x)
        density *= number(-0.5, x.dtype)
        np.exp(density, density)
        density *= x
        density *= number(1 / math.sqrt(2 * math.pi), x.dtype)
        out += density
        out *= grad

    return in_chunks(compute, g, input)


_SCALE, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _reciprocal_tanh_cdf(out: Any, x: Any) -> None:
    """Write `1 + exp(-2 u) = 2 / (1 + tanh(u))` to `out`, with `u = sqrt(2 / pi) * (x + 0.044715 * x ** 3)`."""
    np.multiply(x, x, out)
    out *= number(-2 * _SCALE * _CUBE, x.dtype)
    out += number(-2 * _SCALE, x.dtype)
    out *= x
    np.exp(out, out)
    out += number(1, x.dtype)


@kernel
@without_warnings
def gelu_tanh(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _reciprocal_tanh_cdf(out, x)
        np.divide(x, out, out)

    return in_chunks(compute, input)


@kernel
@without_warnings
def gelu_tanh_backward(g: Any, input: Any) -> Any:
    """Compute `g s (1 + (1 - s) 2 x du / dx)` with `s = (1 + tanh(u)) / 2` and `u = sqrt(2 / pi) * (x + 0.044715 x**3)`."""

    def compute(out: Any, grad: Any, x: Any) -> None:
        dtype = x.dtype
        _reciprocal_tanh_cdf(out, x)
        np.reciprocal(out, out)
        slope = x * x
        slope *= number(6 * _SCALE * _CUBE, dtype)
        slope += number(2 * _SCALE, dtype)
        slope *= x
        slope *= number(1, dtype) - out
        slope += number(1, dtype)
        out *= slope
        out *= grad

    return in_chunks(compute, g, input)
