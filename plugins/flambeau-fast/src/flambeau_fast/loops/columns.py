"""Gradients of convolutions by matrix products, with the batch innermost: `(channel, row, column, sample)`.

For a row of windows, the elements at one place of the kernel are then contiguous: each row of the columns of a row of windows,
`(channel and place, window and sample)`, is copied in one piece.  Images are already padded.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from . import compiled, inlined
from .matrix import multiply
from .scalar import f32


def strips(channels: int) -> int:
    """The number of threads that share the channels."""
    return min(get_num_threads(), channels)


@inlined
def _unfold(columns, images, top, height, width, down, right):
    """The columns of the windows of `height x width` places that begin in row `top`; `down` and `right` are the dilation."""
    at = 0
    for channel in range(len(images)):
        for r in range(height):
            for c in range(width):
                target, source = columns[at], images[channel, top + r * down].reshape(-1)[c * right * images.shape[3] :]
                for j in range(len(target)):
                    target[j] = source[j]
                at += 1


@inlined
def _fold(images, columns, top, height, width, down, right):
    """Add the columns to the elements of the images that they belong to."""
    at = 0
    for channel in range(len(images)):
        for r in range(height):
            for c in range(width):
                source, target = columns[at], images[channel, top + r * down].reshape(-1)[c * right * images.shape[3] :]
                for j in range(len(source)):
                    target[j] += source[j]
                at += 1


@compiled
def weight_gradient(gemm, parts, grads, images, height, width, down, right):
    """Add to `parts`, `(strip, output, channel and place)`, the sum over each strip of rows of windows; it must be zeros.

    `grads` are `(output, row, window and sample)`.
    """
    strips, rows = len(parts), grads.shape[1]
    for strip in prange(strips):
        columns = np.empty((parts.shape[2], grads.shape[2]), f32)
        for top in range(strip * rows // strips, (strip + 1) * rows // strips):
            _unfold(columns, images, top, height, width, down, right)
            multiply(gemm, parts[strip], grads[:, top], False, columns, True, f32(1))


@compiled
def input_gradient(gemm, images, grads, weight, height, width, down, right, strips):
    """`images` must be zeros; `weight` is `(output, channel and place)`.  A thread works on a strip of channels."""
    channels = len(images)
    for strip in prange(strips):
        first, last = strip * channels // strips, (strip + 1) * channels // strips
        places = height * width
        columns = np.empty(((last - first) * places, grads.shape[2]), f32)
        for top in range(grads.shape[1]):
            multiply(gemm, columns, weight[:, first * places : last * places], True, grads[:, top], False, f32(0))
            _fold(images[first:last], columns, top, height, width, down, right)
