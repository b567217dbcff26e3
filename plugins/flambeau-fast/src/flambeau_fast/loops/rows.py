"""Rows of a matrix: softmax and its kin, losses of classes, layer normalization.

A thread works on a row at a time, which stays in its cache while it is read again.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from . import compiled, inlined
from .scalar import exp_below, f32, from_ordered_bits, ordered_bits

# --- softmax ---


@inlined
def largest(row):
    """The largest element; NaN, where there is one."""
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
        row, made = x[i], out[i]
        shift, total = largest(row), f32(0)
        for j in range(len(row)):
            made[j] = exp_below(row[j] - shift)
            total += made[j]
        scale = f32(1) / total
        for j in range(len(row)):
            made[j] *= scale


@compiled
def log_softmax(out, x):
    for i in prange(len(x)):
        row, made = x[i], out[i]
        shift = largest(row)
        rest = np.log(_sum_of_exponentials(row, shift))
        for j in range(len(row)):
            made[j] = row[j] - shift - rest


@compiled
def log_sum_exp(out, x):
    for i in prange(len(x)):
        row = x[i]
        out[i, 0] = largest(row)
        out[i, 1] = np.log(_sum_of_exponentials(row, out[i, 0]))


@compiled
def softmax_backward(made, g, out):
    for i in prange(len(out)):
        along = f32(0)
        for j in range(out.shape[1]):
            along += g[i, j] * out[i, j]
        for j in range(out.shape[1]):
            made[i, j] = (g[i, j] - along) * out[i, j]


@compiled
def log_softmax_backward(made, g, out):
    for i in prange(len(out)):
        total = f32(0)
        for j in range(out.shape[1]):
            total += g[i, j]
        for j in range(out.shape[1]):
            made[i, j] = g[i, j] - exp_below(out[i, j]) * total


@compiled
def cross_entropy_backward(made, x, shifts, rests, target, slopes):
    for i in prange(len(x)):
        shift, rest, slope = shifts[i], rests[i], slopes[i]
        for j in range(x.shape[1]):
            made[i, j] = exp_below(x[i, j] - shift - rest) * slope
        made[i, target[i]] -= slope


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
        row, made = x[i], out[i]
        mean, scale = _moments(row, eps)
        means[i], scales[i] = mean, scale
        for j in range(len(row)):
            made[j] = (row[j] - mean) * scale * weight[j] + bias[j]


@compiled
def layer_norm_backward(made, weight_slopes, bias_slopes, g, x, means, scales, weight):
    """`weight_slopes` and `bias_slopes` have a row, of zeros, for each of a few strips of rows."""
    strips, length = weight_slopes.shape
    height = (len(x) + strips - 1) // strips
    for strip in prange(strips):
        to_weight, to_bias = weight_slopes[strip], bias_slopes[strip]
        for i in range(strip * height, min((strip + 1) * height, len(x))):
            row, slope, out = x[i], g[i], made[i]
            mean, scale = means[i], scales[i]
            total, along = f32(0), f32(0)
            for j in range(length):
                standard = (row[j] - mean) * scale
                through = slope[j] * weight[j]
                to_weight[j] += slope[j] * standard
                to_bias[j] += slope[j]
                total += through
                along += through * standard
            total /= f32(length)
            along /= f32(length)
            for j in range(length):
                out[j] = (slope[j] * weight[j] - total - (row[j] - mean) * scale * along) * scale
