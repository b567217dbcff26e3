"""Activations and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.ops import error_function

from .kernels import kernel
from .pieces import by_pieces, select, silent, wide

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
def sigmoid(input: Any) -> Any:
    with silent():
        return by_pieces(_sigmoid, input)


@kernel
def silu(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _sigmoid(out, x)
        out *= x

    with silent():
        return by_pieces(compute, input)


@kernel
@wide
def silu_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, slope: Any, x: Any) -> None:
        _sigmoid(out, x)
        rest = 1 - out
        rest *= x
        rest += 1
        out *= rest
        out *= slope

    with silent():
        return by_pieces(compute, g, input)


# --- the error function and GELU ----------------------------------------------------------------------------------

# erf(x) = x P(x^2) / Q(x^2) within single precision where |x| < 4; it is 1 beyond.
_P = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
      -2.95459980854025e-03, -1.60960333262415e-02)  # fmt: skip
_Q = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02)


def _polynomial(out: Any, x: Any, coefficients: tuple[float, ...]) -> None:
    np.multiply(x, x.dtype.type(coefficients[0]), out)
    for each in coefficients[1:-1]:
        out += x.dtype.type(each)
        out *= x
    out += x.dtype.type(coefficients[-1])


def _erf(out: Any, x: Any) -> None:
    if x.dtype != np.float32:
        out[...] = error_function.erf_forward(np, x)
        return
    bounded = np.clip(x, np.float32(-4), np.float32(4))
    square = bounded * bounded
    _polynomial(out, square, _P)
    out *= bounded
    below = np.empty_like(out)
    _polynomial(below, square, _Q)
    out /= below


@kernel
def erf(input: Any) -> Any:
    return by_pieces(_erf, input)


def _share_below(out: Any, x: Any) -> None:
    """How much of the normal distribution lies below ``x``."""
    _erf(out, x * x.dtype.type(math.sqrt(0.5)))
    out += 1
    out *= x.dtype.type(0.5)


@kernel
def gelu(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _share_below(out, x)
        out *= x

    return by_pieces(compute, input)


@kernel
@wide
def gelu_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, slope: Any, x: Any) -> None:
        _share_below(out, x)
        density = x * x
        density *= x.dtype.type(-0.5)
        np.exp(density, density)
        density *= x
        density *= x.dtype.type(1 / math.sqrt(2 * math.pi))
        out += density
        out *= slope

    with silent():
        return by_pieces(compute, g, input)


_SCALE, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _bent(out: Any, x: Any) -> None:
    """``tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))``."""
    np.multiply(x, x, out)
    out *= x.dtype.type(_SCALE * _CUBE)
    out += x.dtype.type(_SCALE)
    out *= x
    np.tanh(out, out)


@kernel
def gelu_tanh(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _bent(out, x)
        out += 1
        out *= x
        out *= x.dtype.type(0.5)

    with silent():
        return by_pieces(compute, input)


@kernel
@wide
def gelu_tanh_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, slope: Any, x: Any) -> None:
        _bent(out, x)
        steep = x * x
        steep *= x.dtype.type(3 * _SCALE * _CUBE)
        steep += x.dtype.type(_SCALE)
        steep *= x
        rest = 1 - out
        rest *= steep
        rest += 1
        out += 1
        out *= rest
        out *= slope
        out *= x.dtype.type(0.5)

    with silent():
        return by_pieces(compute, g, input)
