"""Convolution by products of matrices: windows as rows, with the channels of each place side by side."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from .layout import channels_last, channels_second
from .pieces import contiguous
from .windows import Geometry, inside, padded_size, spots, strided

__all__ = ["matrix", "multiply", "slopes", "spread", "suits", "to_weight", "unfold"]

_FROM = 8  # channels from which on rows are faster than columns
_FEW, _SHORT = 32, 64  # channels, and windows in a row, below which rows are folded line by line


def suits(g: Geometry) -> bool:
    """Whether this way is likely to be faster than columns."""
    return g.groups == 1 and g.shape[1] >= _FROM and prod(g.places) > 1


def matrix(weight: Any, g: Geometry) -> Any:
    """The weights as `(output, place and channel)`; where they are heavy, as they are: channel and place."""
    if not g.is_heavy:
        weight = contiguous(channels_last(weight))
    return weight.reshape(len(weight), prod(weight.shape[1:]))


def to_weight(matrix: Any, g: Geometry) -> Any:
    """The reverse."""
    if g.is_heavy:
        return matrix.reshape(g.shape)
    return contiguous(channels_second(matrix.reshape(g.shape[0], *g.places, g.shape[1])))


def _turned(rows: Any, first: int) -> Any:
    """Rows of `first` times anything, the other way around."""
    return np.ascontiguousarray(rows.reshape(len(rows), first, -1).swapaxes(1, 2)).reshape(rows.shape)


def unfold(images: Any, g: Geometry) -> Any:
    """The windows as rows that match those of `matrix`."""
    batch, channels, *space = images.shape
    made = np.zeros((batch, *padded_size(space, g.padding), channels), images.dtype)
    channels_second(made)[inside(space, g.padding)] = images
    first, *steps, last = made.strides
    along = [step * s for step, s in zip(steps, g.stride, strict=True)]
    within = [step * d for step, d in zip(steps, g.dilation, strict=True)]
    windows = strided(made, (batch, *g.size, *g.places, channels), (first, *along, *within, last))
    rows = windows.reshape(batch * prod(g.size), prod(g.places) * channels)
    return _turned(rows, prod(g.places)) if g.is_heavy else rows


def multiply(out: Any, windows: Any, matrix: Any, g: Geometry) -> None:
    """Write the convolution: each window with the weights of each output."""
    out[...] = channels_second((windows @ matrix.T).reshape(len(out), *g.size, -1))


def _outputs_first(images: Any) -> Any:
    """`(output, window)`."""
    return np.swapaxes(images, 0, 1).reshape(images.shape[1], -1)


def slopes(grad: Any, windows: Any, g: Geometry) -> Any:
    """The gradient of the matrix, given that of the convolution."""
    return _outputs_first(grad) @ windows


def spread(out: Any, grad: Any, matrix: Any, g: Geometry) -> None:
    """Write the gradient of the images, given that of the convolution."""
    batch, channels, *space = out.shape
    rows = _outputs_first(grad).T @ matrix
    if g.is_heavy:
        rows = _turned(rows, channels)
    whole = np.zeros((batch, *padded_size(space, g.padding), channels), out.dtype)
    _fold(whole, rows.reshape(batch, *g.size, *g.places, channels), g)
    out[...] = channels_second(whole)[inside(space, g.padding)]


def _fold(target: Any, rows: Any, g: Geometry) -> None:
    """Add `rows`, `(image, *window, *place, channel)`, to the windows of `target` that they are of."""
    if g.dilation[-1] == 1 and rows.shape[-1] < _FEW and g.size[-1] < _SHORT:
        _fold_lines(target, rows, g)
        return
    for place in product(*map(range, g.places)):
        target[(slice(None), *spots(place, g)[1:])] += rows[(..., *place, slice(None))]


def _fold_lines(target: Any, rows: Any, g: Geometry) -> None:
    """The same, window by window along the last dimension: a line of places and their channels lies in one piece in both.

    That takes more calls, but each adds longer runs, which pays where the channels are few.
    """
    outer = len(g.size) - 1
    lead, line = (slice(None),) * (outer + 1), g.places[-1]
    for place in product(*map(range, g.places[:-1])):
        lines = spots((*place, 0), g)[1:-1]
        for window in range(g.size[-1]):
            first = window * g.stride[-1]
            target[(slice(None), *lines, slice(first, first + line))] += rows[(*lead, window, *place)]
