"""Convolution by products of matrices, image by image: windows as columns.  For a few channels, or several groups."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from .windows import Geometry, inside, padded, padded_size, spots, strided

__all__ = ["fold", "matrix", "multiply", "slopes", "spread", "to_weight", "unfold"]


def matrix(weight: Any, g: Geometry) -> Any:
    """The weights as `(group, output in the group, channel and place)`."""
    return weight.reshape(g.groups, len(weight) // g.groups, -1)


def to_weight(matrix: Any, g: Geometry) -> Any:
    """The reverse."""
    return matrix.reshape(g.shape)


def unfold(images: Any, g: Geometry) -> Any:
    """The windows as `(image, group, channel and place, window)`."""
    batch, channels = images.shape[:2]
    shape = (batch, g.groups, channels // g.groups * prod(g.places), prod(g.size))
    if g.is_plain:
        return images.reshape(shape)
    images = padded(images, g.padding)
    first, second, *steps = images.strides
    along = [step * s for step, s in zip(steps, g.stride, strict=True)]
    within = [step * d for step, d in zip(steps, g.dilation, strict=True)]
    return strided(images, (batch, channels, *g.places, *g.size), (first, second, *within, *along)).reshape(shape)


def _grouped(images: Any, g: Geometry) -> Any:
    """`(image, group, output in the group, window)`."""
    return images.reshape(len(images), g.groups, images.shape[1] // g.groups, -1)


def _joins(one: Any, other: Any) -> bool:
    """Whether images have so few windows that one product for all is faster than one each, though it takes copies of both."""
    count, rows, columns = one.shape[-1], one.shape[-2], other.shape[-2]
    return 2 * count * (rows + columns) < rows * columns


def _joined(images: Any) -> Any:
    """`(group, row, image and window)` of `(image, group, row, window)`."""
    return images.transpose(1, 2, 0, 3).reshape(images.shape[1], images.shape[2], -1)


def multiply(out: Any, windows: Any, matrix: Any, g: Geometry) -> None:
    """Write the convolution: the weights of each output with each window."""
    made = _grouped(out, g)
    if _joins(made, windows):
        product = np.matmul(matrix, _joined(windows))
        made[...] = product.reshape(*product.shape[:2], len(out), -1).transpose(2, 0, 1, 3)
    else:
        np.matmul(matrix, windows, out=made)


def slopes(grad: Any, windows: Any, g: Geometry) -> Any:
    """The gradient of the matrix, given that of the convolution."""
    grad = _grouped(grad, g)
    if _joins(grad, windows):
        return np.matmul(_joined(grad), _joined(windows).swapaxes(-1, -2))
    return np.matmul(grad, windows.swapaxes(-1, -2)).sum(0)


def spread(out: Any, grad: Any, matrix: Any, g: Geometry) -> None:
    """Write the gradient of the images, given that of the convolution."""
    batch, channels, *space = out.shape
    turned, grad = matrix.swapaxes(-1, -2), _grouped(grad, g)
    if g.is_plain:
        np.matmul(turned, grad, out=_grouped(out, g))
        return
    columns = np.matmul(turned, grad).reshape(batch, channels, *g.places, *g.size)
    whole = np.zeros((batch, channels, *padded_size(space, g.padding)), out.dtype)
    fold(whole, columns, g)
    out[...] = whole[inside(space, g.padding)]


def fold(target: Any, columns: Any, g: Geometry) -> None:
    """Add `columns`, `(image, channel, *place, *window)`, to the windows of `target` that they are of."""
    for place in product(*map(range, g.places)):
        target[spots(place, g)] += columns[(slice(None), slice(None), *place)]
