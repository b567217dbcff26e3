"""Convolution by im2col with windows as columns, image by image; used for few channels or several groups."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .windows import Geometry, Sizes, inside, padded, padded_size, strided, window_elements

__all__ = ["fold", "matrix", "multiply", "spread", "to_weight", "unfold", "weight_gradient"]

# Output lines are zero-padded to the input's line length if that multiplies the number of elements by at most this factor.
_MORE = 1.5
_SMALL_SIZE = 1 << 13  # number of elements of all windows up to which `take` is faster than copying a strided view


def matrix(weight: Any, g: Geometry) -> Any:
    """Reshape the weight to `(group, output channel in the group, input channel * kernel element)`."""
    return weight.reshape(g.groups, len(weight) // g.groups, prod(weight.shape[1:]))


def to_weight(matrix: Any, g: Geometry) -> Any:
    """Reshape a matrix to the weight's shape: the inverse of `matrix`."""
    return matrix.reshape(g.shape)


def unfold(images: Any, g: Geometry) -> Any:
    """Return the windows as `(image, group, input channel * kernel element, output position)`."""
    if g.is_plain:
        return images.reshape(len(images), g.groups, g.shape[1], prod(g.size))
    images = padded(images, g.padding)
    if g.batch * g.elements <= _SMALL_SIZE:
        return images.take(_positions(images.shape, g.shape[1], g.places, g.size, g.stride, g.dilation))
    return _windows(images, g.shape[1], g.places, g.size, g.stride, g.dilation)


def _windows(images: Any, channels: int, places: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    """Like `unfold`, for padded images and `channels` input channels per group."""
    batch_stride, channel_stride, *space_strides = images.strides
    along = [step * s for step, s in zip(space_strides, stride, strict=True)]
    within = [step * d for step, d in zip(space_strides, dilation, strict=True)]
    windows = strided(images, (*images.shape[:2], *places, *size), (batch_stride, channel_stride, *within, *along))
    groups = images.shape[1] // channels if channels else 1
    return windows.reshape(len(images), groups, channels * prod(places), prod(size))


@lru_cache(64)
def _positions(shape: Sizes, *geometry: Any) -> Any:
    """Return the flat indices, in padded images of this shape, of the elements that `unfold` returns."""
    return _windows(np.arange(prod(shape)).reshape(shape), *geometry)


def _grouped(images: Any, g: Geometry) -> Any:
    """Reshape images to `(image, group, output channel in the group, output position)`."""
    return images.reshape(len(images), g.groups, images.shape[1] // g.groups, prod(images.shape[2:]))


def _joined(images: Any) -> Any:
    """Reorder `(image, group, row, column)` to `(group, row, image * column)`."""
    return images.transpose(1, 2, 0, 3).reshape(images.shape[1], images.shape[2], -1)


def multiply(out: Any, windows: Any, matrix: Any, g: Geometry) -> None:
    """Write the convolution to `out`: the product of the weight matrix and the windows."""
    if len(out) == g.groups == 1:  # `dot` takes half the time of `matmul` for small matrices
        matrix[0].dot(windows[0, 0], out.reshape(len(matrix[0]), -1))
        return
    grouped = _grouped(out, g)
    if g.joins:
        product = np.matmul(matrix, _joined(windows))
        grouped[...] = product.reshape(*product.shape[:2], len(out), -1).transpose(2, 0, 1, 3)
    else:
        np.matmul(matrix, windows, out=grouped)


def weight_gradient(grad: Any, windows: Any, g: Geometry) -> Any:
    """Return the gradient of the weight matrix, given the gradient of the output."""
    grad = _grouped(grad, g)
    if g.joins:
        return np.matmul(_joined(grad), _joined(windows).swapaxes(-1, -2))
    return np.matmul(grad, windows.swapaxes(-1, -2)).sum(0)


def spread(out: Any, grad: Any, matrix: Any, g: Geometry) -> None:
    """Write the gradient of the images to `out`, given the gradient of the output (transposed convolution)."""
    batch, channels, *space = out.shape
    transposed, grad = matrix.swapaxes(-1, -2), _grouped(grad, g)
    if g.is_plain:
        np.matmul(transposed, grad, out=_grouped(out, g))
        return
    whole = np.zeros((batch, channels, *padded_size(space, g.padding)), out.dtype)
    if _folds_in_runs(whole.shape[2:], g):
        _spread_in_runs(whole, grad, transposed, g)
    else:
        fold(whole, np.matmul(transposed, grad).reshape(batch, channels, *g.places, *g.size), g)
    out[...] = whole[inside(space, g.padding)]


def _folds_in_runs(whole: Sizes, g: Geometry) -> bool:
    """Whether output lines are almost as long as padded input lines, so that zero-padding them to that length costs little."""
    return max(g.stride) == 1 and len(whole) > 1 and min(g.size) > 0 and prod(whole[1:]) <= _MORE * prod(g.size[1:])


def _spread_in_runs(whole: Any, grad: Any, transposed: Any, g: Geometry) -> None:
    """Fill the padded input gradient, with output lines zero-padded to the input's line length.

    The gradients of one kernel element in all windows of an image are then contiguous, and NumPy adds them several times as fast
    as separate lines.
    """
    batch, channels, *space = whole.shape
    wide = np.zeros((batch, g.shape[0], g.size[0], *space[1:]), whole.dtype)
    wide[(..., *map(slice, g.size))] = grad.reshape(batch, g.shape[0], *g.size)
    columns = np.matmul(transposed, _grouped(wide, g)).reshape(batch, channels, *g.places, -1)
    flat, steps = whole.reshape(batch, channels, -1), [prod(space[dim + 1 :]) for dim in range(len(space))]
    run = 1 + sum((n - 1) * step for n, step in zip(g.size, steps, strict=True))
    for place in product(*map(range, g.places)):
        first = sum(p * d * step for p, d, step in zip(place, g.dilation, steps, strict=True))
        flat[:, :, first : first + run] += columns[(slice(None), slice(None), *place, slice(run))]


def fold(target: Any, columns: Any, g: Geometry) -> None:
    """Add `columns`, `(image, channel, *kernel, *output)`, to the elements of `target` that they were copied from (col2im)."""
    for place in product(*map(range, g.places)):
        target[window_elements(place, g)] += columns[(slice(None), slice(None), *place)]
