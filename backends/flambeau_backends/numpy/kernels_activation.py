"""Activations and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.operations import error_function

from .constants import number
from .kernels import kernel
from .pieces import by_pieces, select, wide
from .quiet import quiet

# --- rectifiers ---------------------------------------------------------------------------------------------------


@kernel
def leaky_relu(input: Any, negative_slope: float) -> Any:
    slope = input.dtype.type(negative_slope)
    return (np.maximum if negative_slope <= 1 else np.minimum)(input, input * slope)


@kernel
def elu(input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    negative = np.asarray(np.minimum(input, input.dtype.type(0)))
    negative *= input.dtype.type(input_scale)
    np.expm1(negative, negative)
    negative *= input.dtype.type(alpha * scale)
    return select(input > 0, input if scale == 1 else input * input.dtype.type(scale), negative)


# --- the sigmoid and its products ---------------------------------------------------------------------------------


def _sigmoid(out: Any, x: Any) -> None:
    np.negative(x, out)
    np.exp(out, out)
    out += 1
    np.reciprocal(out, out)


@kernel
@quiet
def sigmoid(input: Any) -> Any:
    return by_pieces(_sigmoid, input)


@kernel
@quiet
def silu(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _sigmoid(out, x)
        out *= x

    return by_pieces(compute, input)


@kernel
@quiet
@wide
def silu_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, grad: Any, x: Any) -> None:
        _sigmoid(out, x)
        factor = 1 - out
        factor *= x
        factor += 1
        out *= factor
        out *= grad

    return by_pieces(compute, g, input)


# --- the error function and GELU ----------------------------------------------------------------------------------

# Least-squares fits for single precision: erf(x) / x in powers of x^2 for x < 1, and erfc(x) exp(x^2) in powers of
# 2 / (1 + 0.7 x) - 1 for x >= 1.
_NEAR = (
    7.882497113837771e-05,
    -8.018854993505966e-04,
    5.189311942717047e-03,
    -2.6854328796052106e-02,
    1.1283597463486746e-01,
    -3.7612626903580204e-01,
    1.128379165881503,
)
_TAIL = (
    1.3435160764961314e-04,
    -1.1123281304757633e-03,
    2.312592433982265e-03,
    2.657908156292095e-03,
    -1.8656212316160495e-02,
    -1.7539700947991018e-03,
    1.8266971421379352e-01,
    5.000741716536318e-01,
    3.3367372235505394e-01,
)

# The cumulative distribution function of the standard normal distribution is (1 + tanh(x P(x^2))) / 2: a fit for single
# precision, off by at most 3e-8. P is positive everywhere, so that large x need not be bounded.
_P = (
    1.75617061e-09,
    -1.32263336e-07,
    3.96474438e-06,
    -5.53061935e-05,
    -3.25949759e-05,
    3.63330846e-02,
    7.97884941e-01,
)


def _polynomial(out: Any, x: Any, coefficients: tuple[float, ...]) -> None:
    dtype = x.dtype
    np.multiply(x, number(coefficients[0], dtype), out)
    for coefficient in coefficients[1:-1]:
        np.add(out, number(coefficient, dtype), out)
        np.multiply(out, x, out)
    np.add(out, number(coefficients[-1], dtype), out)


def _erf(out: Any, x: Any) -> None:
    if x.dtype != np.float32:
        out[...] = error_function.erf_forward(np, x)
        return
    magnitude, square = np.abs(x), x * x
    near = np.empty_like(x)
    _polynomial(near, square, _NEAR)
    near *= x
    position = 2 / (1 + np.float32(0.7) * magnitude) - 1
    _polynomial(out, position, _TAIL)
    out *= np.exp(-square)
    np.subtract(1, out, out)
    np.copysign(out, x, out)
    out[...] = select(magnitude < 1, near, out)


@kernel
@quiet
def erf(input: Any) -> Any:
    return by_pieces(_erf, input)


def _share_below(out: Any, x: Any) -> None:
    """The cumulative distribution function of the standard normal distribution."""
    dtype = x.dtype
    if dtype == np.float32:
        _polynomial(out, np.square(x), _P)
        np.multiply(out, x, out)
        np.tanh(out, out)
    else:
        _erf(out, x * dtype.type(math.sqrt(0.5)))
    np.add(out, number(1, dtype), out)
    np.multiply(out, number(0.5, dtype), out)


def _gelu(out: Any, x: Any) -> None:
    _share_below(out, x)
    np.multiply(out, x, out)


@kernel
@quiet
def gelu(input: Any) -> Any:
    return by_pieces(_gelu, input)


@kernel
@quiet
@wide
def gelu_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, grad: Any, x: Any) -> None:
        _share_below(out, x)
        density = x * x
        density *= x.dtype.type(-0.5)
        np.exp(density, density)
        density *= x
        density *= x.dtype.type(1 / math.sqrt(2 * math.pi))
        out += density
        out *= grad

    return by_pieces(compute, g, input)


_SCALE, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _bent(out: Any, x: Any) -> None:
    """`tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))`."""
    np.multiply(x, x, out)
    out *= x.dtype.type(_SCALE * _CUBE)
    out += x.dtype.type(_SCALE)
    out *= x
    np.tanh(out, out)


@kernel
@quiet
def gelu_tanh(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _bent(out, x)
        out += 1
        out *= x
        out *= x.dtype.type(0.5)

    return by_pieces(compute, input)


@kernel
@quiet
@wide
def gelu_tanh_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, grad: Any, x: Any) -> None:
        _bent(out, x)
        slope = x * x
        slope *= x.dtype.type(3 * _SCALE * _CUBE)
        slope += x.dtype.type(_SCALE)
        slope *= x
        factor = 1 - out
        factor *= slope
        factor += 1
        out += 1
        out *= factor
        out *= grad
        out *= x.dtype.type(0.5)

    return by_pieces(compute, g, input)
