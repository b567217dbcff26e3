"""Piecewise linear activations and exponential units, and their gradients, computed without branches by `select`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS

from .chunks import in_chunks, map_chunks, select
from .constants import has_vectors, number
from .error_state import without_warnings
from .kernels import clip, kernel
from .namespace import namespace

__all__: list[str] = []

_SMALL_SIZE = 1 << 9  # number of elements up to which working in chunks does not pay


# --- leaky ReLU, PReLU --------------------------------------------------------------------------------------------


@without_warnings
def _large_leaky_relu(input: Any, slope: Any, choose: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        np.multiply(x, slope, out)
        choose(x, out, out=out)

    return in_chunks(compute, input)


@kernel
def leaky_relu(input: Any, negative_slope: float) -> Any:
    slope, choose = number(negative_slope, input.dtype), np.maximum if negative_slope <= 1 else np.minimum
    return choose(input, input * slope) if input.size <= _SMALL_SIZE else _large_leaky_relu(input, slope, choose)


def _scale_below(out: Any, values: Any, x: Any, slope: Any) -> None:
    """Write `where(x > 0, values, values * slope)` to `out`."""
    np.multiply(values, slope, out)
    select(x > number(0, x.dtype), values, out, out)


@kernel
@without_warnings
def leaky_relu_backward(input: Any, of: Any, negative_slope: float) -> Any:
    slope = number(negative_slope, input.dtype)
    return in_chunks(lambda out, grad, x: _scale_below(out, grad, x, slope), input, of)


def _by_channels(values: Any, x: Any, weight: Any) -> Any:
    """Compute `where(x > 0, values, values * weight)` with one slope `weight[c]` per channel."""
    channels = weight.size
    length = prod(x.shape[2:])
    if length > 1:  # one row for each channel of each sample
        weight = np.tile(weight.reshape(-1), len(x))[:, None]
    shape = (-1, length) if length > 1 else (-1, channels)
    result = np.empty(x.shape, values.dtype)
    out, values, x = (array.reshape(shape) for array in (result, values, x))

    def compute(chunk: slice) -> None:
        _scale_below(out[chunk], values[chunk], x[chunk], weight[chunk] if length > 1 else weight.reshape(-1))

    map_chunks(compute, len(out), out.shape[1])
    return result


@without_warnings
def _prelu(values: Any, x: Any, weight: Any) -> Any:
    if weight.size == 1:
        slope = weight.reshape(())
        return in_chunks(lambda out, part, of: _scale_below(out, part, of, slope), values, x)
    return _by_channels(*(np.ascontiguousarray(array) for array in (values, x)), weight)


@kernel
def prelu_kernel(input: Any, weight: Any) -> Any:
    if input.size <= _SMALL_SIZE or not (weight.size == 1 or input.flags.c_contiguous):
        return OPS["prelu_kernel"].forward(namespace, input, weight)
    return _prelu(input, input, weight)


@kernel
def prelu_backward(g: Any, input: Any, weight: Any) -> Any:
    return _prelu(g, input, weight) if g.size else g


# --- exponential units --------------------------------------------------------------------------------------------


def _expm1(x: Any) -> None:
    """Replace nonpositive `x` by `exp(x) - 1`; without a vectorized expm1 by `2 t / (1 - t)` with `t = tanh(x / 2)`."""
    if x.dtype != np.float32 or has_vectors("expm1"):
        np.expm1(x, x)
        return
    np.multiply(x, number(0.5, x.dtype), x)
    np.tanh(x, x)
    np.divide(x + x, number(1, x.dtype) - x, x)


@kernel
@without_warnings
def elu(input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    """Compute ELU as the sum of the positive part and the transformed negative part."""
    dtype = input.dtype
    zero, height = number(0, dtype), alpha * scale

    def compute(out: Any, x: Any) -> None:
        clip(out, x, None, zero)
        if input_scale != 1:
            np.multiply(out, number(input_scale, dtype), out)
        if input_scale > 0:
            _expm1(out)
        else:
            np.expm1(out, out)
        if height != 1:
            np.multiply(out, number(height, dtype), out)
        positive = clip(np.empty_like(x), x, zero)
        if scale != 1:
            np.multiply(positive, number(scale, dtype), positive)
        np.add(out, positive, out)

    return in_chunks(compute, input)


@kernel
@without_warnings
def elu_backward(g: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    dtype = input.dtype
    zero, slope = number(0, dtype), alpha * scale * input_scale

    def compute(out: Any, grad: Any, x: Any) -> None:
        clip(out, x, None, zero)
        if input_scale != 1:
            np.multiply(out, number(input_scale, dtype), out)
        np.exp(out, out)
        if slope != 1:
            np.multiply(out, number(slope, dtype), out)
        select(x <= zero, out, number(scale, dtype), out)
        np.multiply(out, grad, out)

    return in_chunks(compute, g, input)


# --- piecewise linear ---------------------------------------------------------------------------------------------


@kernel
@without_warnings
def inside_backward(g: Any, input: Any, low: float, high: float) -> Any:
    least, most = number(low, input.dtype), number(high, input.dtype)

    def compute(out: Any, grad: Any, x: Any) -> None:
        beyond = x <= least
        np.logical_or(beyond, x >= most, beyond)
        select(np.logical_not(beyond, beyond), grad, out=out)

    return in_chunks(compute, g, input)


@kernel
@without_warnings
def outside_backward(g: Any, input: Any, low: float, high: float) -> Any:
    least, most = number(low, input.dtype), number(high, input.dtype)

    def compute(out: Any, grad: Any, x: Any) -> None:
        between = x >= least
        np.logical_and(between, x <= most, between)
        select(np.logical_not(between, between), grad, out=out)

    return in_chunks(compute, g, input)


def _hardsigmoid(out: Any, x: Any, factor: Any = None) -> None:
    dtype = x.dtype
    six = number(6, dtype)
    clip(out, np.add(x, number(3, dtype), out), number(0, dtype), six)
    if factor is not None:
        np.multiply(out, factor, out)
    np.divide(out, six, out)


@kernel
@without_warnings
def hardsigmoid(input: Any) -> Any:
    return in_chunks(_hardsigmoid, input)


@kernel
@without_warnings
def hardsigmoid_backward(g: Any, input: Any) -> Any:
    low, high, six = (number(value, input.dtype) for value in (-3, 3, 6))

    def compute(out: Any, grad: Any, x: Any) -> None:
        between = x > low
        np.logical_and(between, x < high, between)
        np.divide(select(between, grad, out=out), six, out)

    return in_chunks(compute, g, input)


@kernel
@without_warnings
def hardswish(input: Any) -> Any:
    return in_chunks(lambda out, x: _hardsigmoid(out, x, x), input)


@kernel
@without_warnings
def hardswish_backward(g: Any, input: Any) -> Any:
    dtype = input.dtype
    low, high, half, one = (number(value, dtype) for value in (-3, 3, 0.5, 1))

    def compute(out: Any, grad: Any, x: Any) -> None:
        np.divide(x, high, out)
        np.add(out, half, out)
        select(x < high, out, one, out)
        below = x <= low
        select(np.logical_not(below, below), out, out=out)
        np.multiply(out, grad, out)

    return in_chunks(compute, g, input)


@kernel
@without_warnings
def threshold(input: Any, threshold: float, value: float) -> Any:
    if input.dtype.kind != "f" or input.size <= _SMALL_SIZE:
        return OPS["threshold"].forward(namespace, input, threshold, value)
    bound, other = number(threshold, input.dtype), np.asarray(value, input.dtype)
    return in_chunks(lambda out, x: select(x <= bound, np.broadcast_to(other, x.shape), x, out), input)


@kernel
@without_warnings
def hard_shrink(input: Any, lambd: float) -> Any:
    if input.dtype.kind != "f" or input.size <= _SMALL_SIZE:
        return OPS["hard_shrink"].forward(namespace, input, lambd)
    return outside_backward(input, input, -lambd, lambd)
