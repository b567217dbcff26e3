"""Elementwise operations; each loop reads its arrays only once."""

from __future__ import annotations

import numpy as np
from numba import prange

from . import compiled
from .scalar import exp as _exp
from .scalar import f32
from .scalar import gelu as _gelu
from .scalar import gelu_backward as _gelu_backward
from .scalar import gelu_tanh as _gelu_tanh
from .scalar import gelu_tanh_backward as _gelu_tanh_backward
from .scalar import sigmoid as _sigmoid
from .scalar import silu as _silu
from .scalar import silu_backward as _silu_backward
from .scalar import tanh as _tanh

# --- arithmetic ---


@compiled
def add(out, a, b):
    for i in prange(out.size):
        out[i] = a[i] + b[i]


@compiled
def sub(out, a, b):
    for i in prange(out.size):
        out[i] = a[i] - b[i]


@compiled
def mul(out, a, b):
    for i in prange(out.size):
        out[i] = a[i] * b[i]


@compiled
def div(out, a, b):
    for i in prange(out.size):
        out[i] = a[i] / b[i]


@compiled
def add_row(out, a, row):
    for i in prange(len(out)):
        for j in range(len(row)):
            out[i, j] = a[i, j] + row[j]


@compiled
def mul_row(out, a, row):
    for i in prange(len(out)):
        for j in range(len(row)):
            out[i, j] = a[i, j] * row[j]


@compiled
def add_scaled(out, a, b, scale):
    for i in prange(out.size):
        out[i] = a[i] + b[i] * scale


@compiled
def scale(out, a, factor):
    for i in prange(out.size):
        out[i] = a[i] * factor


@compiled
def sqrt(out, x):
    for i in prange(out.size):
        out[i] = np.sqrt(x[i])


# --- functions ---


@compiled
def exp(out, x):
    for i in prange(out.size):
        out[i] = _exp(x[i])


@compiled
def tanh(out, x):
    for i in prange(out.size):
        out[i] = _tanh(x[i])


@compiled
def sigmoid(out, x):
    for i in prange(out.size):
        out[i] = _sigmoid(x[i])


# --- activations, and their gradients ---


@compiled
def relu(out, x):
    for i in prange(out.size):
        out[i] = f32(0) if x[i] < f32(0) else x[i]


@compiled
def masked(out, x, mask):
    for i in prange(out.size):
        out[i] = x[i] if mask[i] else f32(0)


@compiled
def silu(out, x):
    for i in prange(out.size):
        out[i] = _silu(x[i])


@compiled
def silu_backward(out, g, x):
    for i in prange(out.size):
        out[i] = _silu_backward(g[i], x[i])


@compiled
def gelu(out, x):
    for i in prange(out.size):
        out[i] = _gelu(x[i])


@compiled
def gelu_backward(out, g, x):
    for i in prange(out.size):
        out[i] = _gelu_backward(g[i], x[i])


@compiled
def gelu_tanh(out, x):
    for i in prange(out.size):
        out[i] = _gelu_tanh(x[i])


@compiled
def gelu_tanh_backward(out, g, x):
    for i in prange(out.size):
        out[i] = _gelu_tanh_backward(g[i], x[i])


@compiled
def leaky_relu(out, x, slope):
    for i in prange(out.size):
        out[i] = x[i] * slope if x[i] < f32(0) else x[i]


@compiled
def squared_error_gradient(out, a, b, factor):
    for i in prange(out.size):
        out[i] = (a[i] - b[i]) * factor


@compiled
def squared_error(a, b):
    total = 0.0
    for i in prange(a.size):
        difference = a[i] - b[i]
        total += difference * difference
    return total


# --- in place, for optimizers ---


@compiled
def lerp_(target, end, weight):
    for i in prange(target.size):
        target[i] += (end[i] - target[i]) * weight


@compiled
def addcmul_(target, first, second, value):
    for i in prange(target.size):
        target[i] += first[i] * value * second[i]


@compiled
def addcdiv_(target, first, second, value):
    for i in prange(target.size):
        target[i] += first[i] * value / second[i]


@compiled
def adam_step(param, grad, mean, square, sign, decay, shrink, one_minus_beta1, beta2, rate, eps):
    """A step of Adam with the names of `optimizers.adam_step`; `sign` is -1 to maximize."""
    for i in prange(param.size):
        before = param[i] * shrink
        gradient = sign * grad[i] + decay * before
        mean[i] += one_minus_beta1 * (gradient - mean[i])
        square[i] = beta2 * square[i] + (f32(1) - beta2) * gradient * gradient
        param[i] = before - rate * mean[i] / (np.sqrt(square[i]) + eps)
