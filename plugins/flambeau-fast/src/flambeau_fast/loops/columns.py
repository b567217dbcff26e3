"""Gradients of convolutions by products of matrices, with the batch innermost: `(channel, row, column, sample)`.

The windows' elements at one place of the kernel, for a row of windows, then lie in one piece: the columns of a row of windows,
`(channel and place, window and sample)`, are copies of as many pieces.  Images come with their padding.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from . import compiled, inlined
from .matrix import multiply
from .scalar import f32


def strips(channels: int) -> int:
    """How many threads are to share the channels."""
    return min(get_num_threads(), channels)


@inlined
def _unfold(columns, images, top, height, width, down, right):
    """The columns of the windows that begin in row `top`, of `height` by `width` places, `down` and `right` apart."""
    at = 0
    for channel in range(len(images)):
        for r in range(height):
            for c in range(width):
                made, given = columns[at], images[channel, top + r * down].reshape(-1)[c * right * images.shape[3] :]
                for j in range(len(made)):
                    made[j] = given[j]
                at += 1


@inlined
def _fold(images, columns, top, height, width, down, right):
    """Add the columns to what they are of."""
    at = 0
    for channel in range(len(images)):
        for r in range(height):
            for c in range(width):
                given, made = columns[at], images[channel, top + r * down].reshape(-1)[c * right * images.shape[3] :]
                for j in range(len(given)):
                    made[j] += given[j]
                at += 1


@compiled
def weight_gradient(gemm, parts, slopes, images, height, width, down, right):
    """Into `(strip, output, channel and place)`, the sum over a strip of rows of windows; it comes as zeros.

    `slopes` are `(output, row, window and sample)`.
    """
    strips, rows = len(parts), slopes.shape[1]
    for strip in prange(strips):
        columns = np.empty((parts.shape[2], slopes.shape[2]), f32)
        for top in range(strip * rows // strips, (strip + 1) * rows // strips):
            _unfold(columns, images, top, height, width, down, right)
            multiply(gemm, parts[strip], slopes[:, top], False, columns, True, f32(1))


@compiled
def input_gradient(gemm, images, slopes, weight, height, width, down, right, strips):
    """The images come as zeros; `weight` is `(output, channel and place)`.  A thread works on a strip of channels."""
    channels = len(images)
    for strip in prange(strips):
        first, last = strip * channels // strips, (strip + 1) * channels // strips
        places = height * width
        columns = np.empty(((last - first) * places, slopes.shape[2]), f32)
        for top in range(slopes.shape[1]):
            multiply(gemm, columns, weight[:, first * places : last * places], True, slopes[:, top], False, f32(0))
            _fold(images[first:last], columns, top, height, width, down, right)
