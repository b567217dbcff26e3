"""Channels of images `(sample, channel, position)`: moments, batch normalization and its gradient.

A thread works on all samples of a channel.
"""

from __future__ import annotations

from numba import prange

from . import compiled
from .scalar import f32


@compiled
def moments(means, variances, x):
    batch, channels, places = x.shape
    for c in prange(channels):
        total = 0.0
        for n in range(batch):
            part, row = f32(0), x[n, c]
            for j in range(places):
                part += row[j]
            total += part
        mean = f32(total / (batch * places))
        spread = 0.0
        for n in range(batch):
            part, row = f32(0), x[n, c]
            for j in range(places):
                part += (row[j] - mean) * (row[j] - mean)
            spread += part
        means[c] = mean
        variances[c] = f32(spread / (batch * places))


@compiled
def affine(out, x, factor, offset):
    batch, channels, places = x.shape
    for i in prange(batch * channels):
        n, c = i // channels, i % channels
        row, target, a, b = x[n, c], out[n, c], factor[c], offset[c]
        for j in range(places):
            target[j] = row[j] * a + b


@compiled
def norm_backward(grad_input, grad_weight, grad_bias, g, x, mean, scale, factor, fixed):
    """`scale` is one over the standard deviation, `factor` that times the weight."""
    batch, channels, places = x.shape
    for c in prange(channels):
        total, projection, middle = 0.0, 0.0, mean[c]
        for n in range(batch):
            part, part_projection, row, grad = f32(0), f32(0), x[n, c], g[n, c]
            for j in range(places):
                part += grad[j]
                part_projection += grad[j] * (row[j] - middle)
            total += part
            projection += part_projection
        grad_bias[c] = f32(total)
        grad_weight[c] = f32(projection) * scale[c]
        a, tilt, offset = factor[c], f32(0), f32(0)
        if not fixed:
            share = f32(1) / f32(batch * places)
            tilt = -a * f32(projection) * scale[c] * scale[c] * share
            offset = -a * f32(total) * share - tilt * middle
        for n in range(batch):
            row, grad, out = x[n, c], g[n, c], grad_input[n, c]
            for j in range(places):
                out[j] = grad[j] * a + row[j] * tilt + offset
