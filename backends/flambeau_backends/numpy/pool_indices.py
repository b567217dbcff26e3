"""Positions of the maxima of pooling windows.

Large windows call `argmax` once per window.  Small windows are processed one dimension at a time, with that dimension moved to
the front: the elements at one offset in all windows are then contiguous rows, which NumPy compares with vector instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .chunks import map_chunks

__all__ = ["MANY", "places_of_maxima"]


MANY = 48  # number of elements of a window from which one `argmax` per window is faster
_SHORTER = 16  # temporary arrays have about this many times fewer elements than the input

Windows = tuple[Any, Any]  # first and last position of each window along a dimension


def places_of_maxima(images: Any, windows: Sequence[Windows]) -> Any:
    """Return the flat index of each window's first maximum, or of its last NaN if it has any.

    `windows` contains the first and last positions of windows along each spatial dimension.
    """
    n = len(windows)
    batch, space = images.shape[: images.ndim - n], images.shape[images.ndim - n :]
    rows = np.ascontiguousarray(images).reshape(prod(batch), *space)
    if rows.dtype.itemsize == 2:
        rows = rows.astype(np.float32)  # NumPy compares float32 much faster
    sizes = [len(first) for first, _ in windows]
    places = np.empty((len(rows), *sizes), np.int64)
    if places.size:
        find = _in_large_windows if prod(space) // prod(sizes) >= MANY else _in_windows

        def compute(chunk: slice) -> None:
            places[chunk] = find(rows[chunk], windows)

        map_chunks(compute, len(rows), prod(space) // _SHORTER)
    return places.reshape(*batch, *sizes)


def _in_large_windows(rows: Any, windows: Sequence[Windows]) -> Any:
    numbers, with_nan = np.arange(rows[0].size, dtype=np.int64).reshape(rows.shape[1:]), _has_nan(rows)
    places = np.empty((*(len(first) for first, _ in windows), len(rows)), np.int64)
    for window in np.ndindex(*places.shape[:-1]):
        inside = tuple(slice(first[at], last[at] + 1) for (first, last), at in zip(windows, window, strict=True))
        found = _in_rows(rows[:, *inside].reshape(len(rows), -1), with_nan)
        numbers[inside].reshape(-1).take(found, None, places[window])
    return np.moveaxis(places, -1, 0)


def _in_rows(rows: Any, with_nan: bool) -> Any:
    found = rows.argmax(1)
    if with_nan:
        missing = np.isnan(rows)
        return np.where(missing.any(1), rows.shape[1] - 1 - missing[:, ::-1].argmax(1), found)
    return found


def _has_nan(values: Any) -> bool:
    return bool(np.isnan(values.max()))


def _in_windows(rows: Any, windows: Sequence[Windows]) -> Any:
    places, step = None, 1  # `step` is the stride of the dimension in the flattened space
    for dim in range(len(windows), 0, -1):
        values = np.ascontiguousarray(np.moveaxis(rows, dim, 0))
        largest, found = _first_largest(values, *windows[dim - 1])
        if places is not None:
            before = np.take_along_axis(np.moveaxis(places, dim, 0), found, 0)
            found *= step
            found += before
        step *= len(values)
        rows, places = np.moveaxis(largest, 0, dim), np.moveaxis(found, 0, dim)
    return places


def _first_largest(values: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Return the maxima of windows along the first dimension, and their positions along it."""
    largest, length = values.take(first, 0), int((last - first).max()) + 1
    turn = np.zeros(largest.shape, np.min_scalar_type(length))  # offset of the running maximum from the window's start
    with_nan = _has_nan(values)
    for place in range(1, length):
        part = values.take(np.minimum(first + place, last), 0)
        better = part > largest
        if with_nan:
            better |= part != part
        np.maximum(turn, np.multiply(better, place, dtype=turn.dtype), out=turn)
        np.maximum(largest, part, out=largest)
    shape = (-1, *(1,) * (values.ndim - 1))
    return largest, np.minimum(first.reshape(shape) + turn, last.reshape(shape))
