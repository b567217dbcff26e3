"""Convolution by im2col with windows as rows, in channels-last order: a position's channels are adjacent in memory."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from .chunks import contiguous
from .layout import channels_last, channels_second
from .windows import Geometry, inside, padded_size, strided, window_elements

__all__ = ["matrix", "multiply", "spread", "suits", "to_weight", "unfold", "weight_gradient"]

_MIN_CHANNELS = 8  # minimum number of input channels for which this module may be faster than `conv_columns`
# Below both limits, on input channels and on the length of output lines, `_fold_lines` is faster than `_fold`.
_FEW_CHANNELS, _FEW_COLUMNS = 32, 64


def suits(g: Geometry) -> bool:
    """Whether this module is likely faster than `conv_columns`: it copies runs of channels, and `conv_columns` output lines."""
    return g.groups == 1 and g.shape[1] >= _MIN_CHANNELS and g.shape[1] > g.size[-1] and prod(g.places) > 1


def matrix(weight: Any, g: Geometry) -> Any:
    """Reshape the weight to `(C_out, kernel * C_in)`; if it has more elements than the windows, to `(C_out, C_in * kernel)`.

    The second form needs no copy of the weight.
    """
    if not g.is_heavy:
        weight = contiguous(channels_last(weight))
    return weight.reshape(len(weight), prod(weight.shape[1:]))


def to_weight(matrix: Any, g: Geometry) -> Any:
    """Reshape a matrix, as returned by `matrix`, to the shape of the weight."""
    if g.is_heavy:
        return matrix.reshape(g.shape)
    return contiguous(channels_second(matrix.reshape(g.shape[0], *g.places, g.shape[1])))


def _swapped(rows: Any, first: int) -> Any:
    """View each row as a matrix with `first` rows, transpose that matrix, and flatten it to a row again."""
    return np.ascontiguousarray(rows.reshape(len(rows), first, -1).swapaxes(1, 2)).reshape(rows.shape)


def unfold(images: Any, g: Geometry) -> Any:
    """Return the windows as rows, `(image * output position, kernel * C_in)`, in the column order of `matrix`."""
    batch, channels, *space = images.shape
    padded = np.zeros((batch, *padded_size(space, g.padding), channels), images.dtype)
    channels_second(padded)[inside(space, g.padding)] = images
    batch_stride, *space_strides, channel_stride = padded.strides
    along = [stride * s for stride, s in zip(space_strides, g.stride, strict=True)]
    within = [stride * d for stride, d in zip(space_strides, g.dilation, strict=True)]
    windows = strided(padded, (batch, *g.size, *g.places, channels), (batch_stride, *along, *within, channel_stride))
    rows = windows.reshape(batch * prod(g.size), prod(g.places) * channels)
    return _swapped(rows, prod(g.places)) if g.is_heavy else rows


def multiply(out: Any, windows: Any, matrix: Any, g: Geometry) -> None:
    """Write the convolution to `out`: the product of the windows and the transposed weight matrix."""
    if g.is_heavy:  # for few windows, OpenBLAS is 1.2 to 2 times faster if the larger matrix comes first
        results = (matrix @ windows.T).reshape(len(matrix), len(out), *g.size)
        out[...] = results.swapaxes(0, 1)
        return
    out[...] = channels_second((windows @ matrix.T).reshape(len(out), *g.size, -1))


def _outputs_first(images: Any) -> Any:
    """Reshape images to `(channel, image * position)`."""
    return np.swapaxes(images, 0, 1).reshape(images.shape[1], -1)


def weight_gradient(grad: Any, windows: Any, g: Geometry) -> Any:
    """Return the gradient of the weight matrix, given the gradient of the output."""
    return _outputs_first(grad) @ windows


def spread(out: Any, grad: Any, matrix: Any, g: Geometry) -> None:
    """Write the gradient of the images to `out`, given the gradient of the output (transposed convolution)."""
    batch, channels, *space = out.shape
    rows = _outputs_first(grad).T @ matrix
    if g.is_heavy:
        rows = _swapped(rows, channels)
    whole = np.zeros((batch, *padded_size(space, g.padding), channels), out.dtype)
    _fold(whole, rows.reshape(batch, *g.size, *g.places, channels), g)
    out[...] = channels_second(whole)[inside(space, g.padding)]


def _fold(target: Any, rows: Any, g: Geometry) -> None:
    """Add `rows`, `(image, *output, *kernel, channel)`, to the elements of `target` that they were copied from (col2im)."""
    if g.dilation[-1] == 1 and rows.shape[-1] < _FEW_CHANNELS and g.size[-1] < _FEW_COLUMNS:
        _fold_lines(target, rows, g)
        return
    for place in product(*map(range, g.places)):
        target[(slice(None), *window_elements(place, g)[1:])] += rows[(..., *place, slice(None))]


def _fold_lines(target: Any, rows: Any, g: Geometry) -> None:
    """Like `_fold`, but loop over the windows along the last dimension, instead of over the kernel elements along it.

    This takes more calls, but each adds longer runs of memory (a window's kernel elements and channels are contiguous).
    """
    outer = len(g.size) - 1
    leading, line = (slice(None),) * (outer + 1), g.places[-1]
    for place in product(*map(range, g.places[:-1])):
        lines = window_elements((*place, 0), g)[1:-1]
        for window in range(g.size[-1]):
            first = window * g.stride[-1]
            target[(slice(None), *lines, slice(first, first + line))] += rows[(*leading, window, *place)]
