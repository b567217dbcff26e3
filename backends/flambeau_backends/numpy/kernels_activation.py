"""Activations and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.operations import error_function

from .constants import number
from .kernels import clip, kernel
from .pieces import by_pieces
from .polynomials import polynomial
from .quiet import quiet

_FEW = 1 << 9  # elements up to which working in pieces costs more than it saves

# --- rectifiers ---------------------------------------------------------------------------------------------------


@quiet
def _large_leaky_relu(input: Any, slope: Any, choose: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        np.multiply(x, slope, out)
        choose(x, out, out=out)

    return by_pieces(compute, input)


@kernel
def leaky_relu(input: Any, negative_slope: float) -> Any:
    slope, choose = number(negative_slope, input.dtype), np.maximum if negative_slope <= 1 else np.minimum
    return choose(input, input * slope) if input.size <= _FEW else _large_leaky_relu(input, slope, choose)


@kernel
@quiet
def elu(input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    """The sum of both parts, of which one is 0."""
    dtype = input.dtype
    zero, height = number(0, dtype), alpha * scale

    def compute(out: Any, x: Any) -> None:
        clip(out, x, None, zero)
        if input_scale != 1:
            np.multiply(out, number(input_scale, dtype), out)
        np.expm1(out, out)
        if height != 1:
            np.multiply(out, number(height, dtype), out)
        positive = clip(np.empty_like(x), x, zero)
        if scale != 1:
            np.multiply(positive, number(scale, dtype), positive)
        np.add(out, positive, out)

    return by_pieces(compute, input)


def _hardsigmoid(out: Any, x: Any, factor: Any = None) -> None:
    dtype = x.dtype
    six = number(6, dtype)
    clip(out, np.add(x, number(3, dtype), out), number(0, dtype), six)
    if factor is not None:
        np.multiply(out, factor, out)
    np.divide(out, six, out)


@kernel
@quiet
def hardsigmoid(input: Any) -> Any:
    return by_pieces(_hardsigmoid, input)


@kernel
@quiet
def hardswish(input: Any) -> Any:
    return by_pieces(lambda out, x: _hardsigmoid(out, x, x), input)


# --- the sigmoid and its products ---------------------------------------------------------------------------------


def _inverse_of_sigmoid(out: Any, x: Any) -> None:
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, number(1, x.dtype), out)


def _sigmoid(out: Any, x: Any) -> None:
    _inverse_of_sigmoid(out, x)
    np.reciprocal(out, out)


@kernel
@quiet
def sigmoid(input: Any) -> Any:
    return by_pieces(_sigmoid, input)


@kernel
@quiet
def silu(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        _inverse_of_sigmoid(out, x)
        np.divide(x, out, out)

    return by_pieces(compute, input)


@kernel
@quiet
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

# A fit for single precision: erf(x) is tanh(x P(x^2)), to 1e-8 of its value. P is positive everywhere, so that large x need not
# be bounded.
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

# The cumulative distribution function of the standard normal distribution is (1 + tanh(x P(x^2))) / 2: a fit for single
# precision, off by at most 3e-8.
_P = (
    1.75617061e-09,
    -1.32263336e-07,
    3.96474438e-06,
    -5.53061935e-05,
    -3.25949759e-05,
    3.63330846e-02,
    7.97884941e-01,
)


def _erf(out: Any, x: Any) -> None:
    if x.dtype != np.float32:
        out[...] = error_function.erf_forward(np, x)
        return
    polynomial(out, np.square(x), _ERF)
    np.multiply(out, x, out)
    np.tanh(out, out)


@kernel
@quiet
def erf(input: Any) -> Any:
    return by_pieces(_erf, input)


def _share_below(out: Any, x: Any) -> None:
    """The cumulative distribution function of the standard normal distribution."""
    dtype = x.dtype
    if dtype == np.float32:
        polynomial(out, np.square(x), _P)
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
