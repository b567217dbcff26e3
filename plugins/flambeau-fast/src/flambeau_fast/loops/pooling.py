"""Max and average pooling of images `(image, height, width)`, and their gradients; a thread works on an image at a time.

The gradient of a maximum goes to the first of the window's elements that equals it, as in PyTorch.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from . import compiled, inlined
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


@inlined
def _is_more(a, b):
    """Whether `a` replaces `b` as the maximum; NaN replaces everything."""
    return (a > b) | (a != a)


@compiled
def max_pool_2x2(out, x):
    """2 x 2 windows that do not overlap, the common case.  `x` is `(image, window, row, window, column)`."""
    for image in prange(len(x)):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                a, b, c, d = x[image, i, 0, j, 0], x[image, i, 0, j, 1], x[image, i, 1, j, 0], x[image, i, 1, j, 1]
                a = b if _is_more(b, a) else a
                c = d if _is_more(d, c) else c
                out[image, i, j] = c if _is_more(c, a) else a


@compiled
def max_pool_2x2_backward(grad_input, g, x):
    """Like `max_pool_backward`, without branches; `grad_input` need not be zeros."""
    for image in prange(len(x)):
        for i in range(g.shape[1]):
            for j in range(g.shape[2]):
                a, b, c, d = x[image, i, 0, j, 0], x[image, i, 0, j, 1], x[image, i, 1, j, 0], x[image, i, 1, j, 1]
                right, low_right = _is_more(b, a), _is_more(d, c)
                below = _is_more(d if low_right else c, b if right else a)
                above, under = f32(0) if below else g[image, i, j], g[image, i, j] if below else f32(0)
                grad_input[image, i, 0, j, 0] = f32(0) if right else above
                grad_input[image, i, 0, j, 1] = above if right else f32(0)
                grad_input[image, i, 1, j, 0] = f32(0) if low_right else under
                grad_input[image, i, 1, j, 1] = under if low_right else f32(0)


@compiled
def max_pool_backward(grad_input, g, x, height, width, down, right, top, left):
    """`grad_input` must be zeros."""
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
                grad_input[image, row, column] += g[image, i, j]


@compiled
def avg_pool(out, x, shares, height, width, down, right, top, left):
    """`shares` holds the factor by which the sum of each window is multiplied."""
    images, rows, columns = x.shape
    for image in prange(images):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                first, start, total = i * down - top, j * right - left, f32(0)
                for r in range(max(first, 0), min(first + height, rows)):
                    line = x[image, r, max(start, 0) : min(start + width, columns)]
                    for c in range(len(line)):
                        total += line[c]
                out[image, i, j] = total * shares[i, j]


@compiled
def avg_pool_backward(grad_input, g, shares, height, width, down, right, top, left):
    """`grad_input` must be zeros."""
    images, rows, columns = grad_input.shape
    for image in prange(images):
        for i in range(g.shape[1]):
            for j in range(g.shape[2]):
                first, start, grad = i * down - top, j * right - left, g[image, i, j] * shares[i, j]
                for r in range(max(first, 0), min(first + height, rows)):
                    line = grad_input[image, r, max(start, 0) : min(start + width, columns)]
                    for c in range(len(line)):
                        line[c] += grad
