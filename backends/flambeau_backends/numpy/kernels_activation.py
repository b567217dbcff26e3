"""Activations and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.operations import error_function

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

# A rational approximation for all x, accurate to 3e-7: erf(x) = x P(x^2) / Q(x^2) where |x| < 4.
_P = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_Q = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02)


def _polynomial(out: Any, x: Any, coefficients: tuple[float, ...]) -> None:
    np.multiply(x, x.dtype.type(coefficients[0]), out)
    for coefficient in coefficients[1:-1]:
        out += x.dtype.type(coefficient)
        out *= x
    out += x.dtype.type(coefficients[-1])


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


def _quick_erf(out: Any, x: Any) -> None:
    if x.dtype != np.float32:
        _erf(out, x)
        return
    bounded = np.clip(x, np.float32(-4), np.float32(4))
    square = bounded * bounded
    _polynomial(out, square, _P)
    out *= bounded
    denominator = np.empty_like(out)
    _polynomial(denominator, square, _Q)
    out /= denominator


def _share_below(out: Any, x: Any) -> None:
    """The cumulative distribution function of the standard normal distribution."""
    _quick_erf(out, x * x.dtype.type(math.sqrt(0.5)))
    out += 1
    out *= x.dtype.type(0.5)


@kernel
def gelu(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _share_below(out, x)
        out *= x

    return by_pieces(compute, input)


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
