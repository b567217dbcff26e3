"""Rows of a matrix: softmax and related functions, classification losses, layer normalization.

A thread works on a row at a time, so that the row stays in its cache.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from . import compiled, inlined
from .scalar import exp_below, f32, from_ordered_bits, ordered_bits

# --- softmax ---


@inlined
def largest(row):
    """The largest element, or NaN if there is one."""
    most = ordered_bits(row[0])
    for j in range(len(row)):
        bits = ordered_bits(row[j])
        most = bits if bits > most else most
    return from_ordered_bits(most)


@inlined
def _sum_of_exponentials(row, shift):
    total = f32(0)
    for j in range(len(row)):
        total += exp_below(row[j] - shift)
    return total


@compiled
def softmax(out, x):
    for i in prange(len(x)):
        row, target = x[i], out[i]
        shift, total = largest(row), f32(0)
        for j in range(len(row)):
            target[j] = exp_below(row[j] - shift)
            total += target[j]
        scale = f32(1) / total
        for j in range(len(row)):
            target[j] *= scale


@compiled
def log_softmax(out, x):
    for i in prange(len(x)):
        row, target = x[i], out[i]
        shift = largest(row)
        log_total = np.log(_sum_of_exponentials(row, shift))
        for j in range(len(row)):
            target[j] = row[j] - shift - log_total


@compiled
def log_sum_exp(out, x):
    for i in prange(len(x)):
        row = x[i]
        out[i, 0] = largest(row)
        out[i, 1] = np.log(_sum_of_exponentials(row, out[i, 0]))


@compiled
def softmax_backward(grad_input, g, out):
    for i in prange(len(out)):
        projection = f32(0)
        for j in range(out.shape[1]):
            projection += g[i, j] * out[i, j]
        for j in range(out.shape[1]):
            grad_input[i, j] = (g[i, j] - projection) * out[i, j]


@compiled
def log_softmax_backward(grad_input, g, out):
    for i in prange(len(out)):
        total = f32(0)
        for j in range(out.shape[1]):
            total += g[i, j]
        for j in range(out.shape[1]):
            grad_input[i, j] = g[i, j] - exp_below(out[i, j]) * total


@compiled
def cross_entropy_backward(grad_input, x, shifts, logs, target, scales):
    for i in prange(len(x)):
        shift, log_total, scale = shifts[i], logs[i], scales[i]
        for j in range(x.shape[1]):
            grad_input[i, j] = exp_below(x[i, j] - shift - log_total) * scale
        grad_input[i, target[i]] -= scale


# --- layer normalization ---


@inlined
def _moments(row, eps):
    """The mean, and one over the standard deviation."""
    total, squares = f32(0), f32(0)
    for j in range(len(row)):
        total += row[j]
    mean = total / f32(len(row))
    for j in range(len(row)):
        squares += (row[j] - mean) * (row[j] - mean)
    return mean, f32(1) / np.sqrt(squares / f32(len(row)) + eps)


@compiled
def layer_norm(out, means, scales, x, weight, bias, eps):
    for i in prange(len(x)):
        row, target = x[i], out[i]
        mean, scale = _moments(row, eps)
        means[i], scales[i] = mean, scale
        for j in range(len(row)):
            target[j] = (row[j] - mean) * scale * weight[j] + bias[j]


@compiled
def layer_norm_backward(grad_input, grad_weights, grad_biases, g, x, means, scales, weight):
    """`grad_weights` and `grad_biases` hold partial sums, one row for each strip of rows; they must be zeros."""
    strips, length = grad_weights.shape
    height = (len(x) + strips - 1) // strips
    for strip in prange(strips):
        to_weight, to_bias = grad_weights[strip], grad_biases[strip]
        for i in range(strip * height, min((strip + 1) * height, len(x))):
            row, grad, out = x[i], g[i], grad_input[i]
            mean, scale = means[i], scales[i]
            total, projection = f32(0), f32(0)
            for j in range(length):
                normalized = (row[j] - mean) * scale
                scaled = grad[j] * weight[j]
                to_weight[j] += grad[j] * normalized
                to_bias[j] += grad[j]
                total += scaled
                projection += scaled * normalized
            total /= f32(length)
            projection /= f32(length)
            for j in range(length):
                out[j] = (grad[j] * weight[j] - total - (row[j] - mean) * scale * projection) * scale
