"""Maxima of windows of images ``(image, height, width)``, and their gradient; a thread works on an image at a time.

The gradient of a window goes to the first of its elements that equals the maximum, as in PyTorch.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from . import compiled
from .scalar import f32


@compiled
def max_pool(out, x, height, width, down, right, top, left):
    images, rows, columns = x.shape
    for image in prange(images):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                first, start = i * down - top, j * right - left
                most = f32(-np.inf)
                for r in range(max(first, 0), min(first + height, rows)):
                    for c in range(max(start, 0), min(start + width, columns)):
                        value = x[image, r, c]
                        most = value if value > most or value != value else most
                out[image, i, j] = most


@compiled
def max_pool_2x2(out, x):
    """Two by two, side by side: the common case."""
    for image in prange(len(x)):
        for i in range(out.shape[1]):
            upper, lower, made = x[image, 2 * i], x[image, 2 * i + 1], out[image, i]
            for j in range(len(made)):
                a, b, c, d = upper[2 * j], upper[2 * j + 1], lower[2 * j], lower[2 * j + 1]
                a = b if b > a or b != b else a
                c = d if d > c or d != d else c
                made[j] = c if c > a or c != c else a


@compiled
def max_pool_2x2_backward(made, g, x):
    """As ``max_pool_backward``, without a branch; ``made`` need not be zeros."""
    for image in prange(len(x)):
        for i in range(g.shape[1]):
            upper, lower, slopes = x[image, 2 * i], x[image, 2 * i + 1], g[image, i]
            into_upper, into_lower = made[image, 2 * i], made[image, 2 * i + 1]
            for j in range(len(slopes)):
                a, b, c, d, slope = upper[2 * j], upper[2 * j + 1], lower[2 * j], lower[2 * j + 1], slopes[j]
                right, low_right = b > a or b != b, d > c or d != d
                top, low = b if right else a, d if low_right else c
                below = low > top or low != low
                into_upper[2 * j] = f32(0) if below or right else slope
                into_upper[2 * j + 1] = slope if right and not below else f32(0)
                into_lower[2 * j] = slope if below and not low_right else f32(0)
                into_lower[2 * j + 1] = slope if below and low_right else f32(0)


@compiled
def max_pool_backward(made, g, x, height, width, down, right, top, left):
    """``made`` is of zeros."""
    images, rows, columns = x.shape
    for image in prange(images):
        for i in range(g.shape[1]):
            for j in range(g.shape[2]):
                first, start = i * down - top, j * right - left
                most, row, column = f32(-np.inf), max(first, 0), max(start, 0)
                for r in range(max(first, 0), min(first + height, rows)):
                    for c in range(max(start, 0), min(start + width, columns)):
                        value = x[image, r, c]
                        if value > most or value != value:
                            most, row, column = value, r, c
                made[image, row, column] += g[image, i, j]
