"""Adding rows to a table at indices that may repeat: gradients of embeddings, bags and segments.

The rows of each index are added in order, as in PyTorch, since the order determines the last digits.  `np.add.at` does this
element by element.  It is many times faster to add the first row of every index in one call, then the second row of every index
that has one, and so on; an index with many rows is summed by one reduction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .chunks import chunks

__all__ = ["add_rows", "place_largest"]

_SMALL_SIZE = 1 << 16  # number of elements up to which sorting the indices does not pay
_NARROW = 16  # row length up to which adding elements is faster than gathering rows
_LONG = 1 << 6  # minimum number of rows with the same index for which one call of `np.add.reduce` sums them
_AT_ONCE = 1 << 14  # number of elements whose flat positions are computed in one step, to stay in the cache


class _Runs:
    """Rows grouped by index: one run of rows per index, longest runs first."""

    def __init__(self, index: Any, rows: Any, count: int) -> None:
        self.rows, self.order = rows, None  # `order` is the permutation that sorts the index; None if it is already sorted
        if (index[1:] < index[:-1]).any():
            self.order = _stable_order(index, count)
            index = index.take(self.order)
        starts = np.flatnonzero(np.concatenate([[True], index[1:] != index[:-1]]))
        lengths = np.diff(starts, append=len(index))
        most = int(lengths.max())
        by_length = _stable_order(most - lengths, most)
        self.starts, self.lengths = starts.take(by_length), lengths.take(by_length)
        self.places = index.take(self.starts)

    def places_of_rows(self, chosen: Any) -> Any:
        """Map positions in the sorted order to row numbers."""
        return chosen if self.order is None else self.order[chosen]

    def turns(self, chunk: slice) -> Iterator[tuple[int, Any]]:
        """Yield, for the second, third, ... row of these runs, the number of runs that have it, and the row numbers."""
        starts, lengths = self.starts[chunk], -self.lengths[chunk]
        for turn in range(1, int(-lengths[0])):
            active = int(lengths.searchsorted(-turn))
            yield active, self.places_of_rows(starts[:active] + turn)


def add_rows(target: Any, index: Any, rows: Any) -> None:
    """Add `rows[i]` to `target[index[i]]` for each i; indices must be in range."""
    width = target.shape[1]
    if rows.size <= _SMALL_SIZE or width < _NARROW:
        _add_elements(target, index, rows)
        return
    runs = _Runs(index, rows, len(target))
    long = int(np.count_nonzero(runs.lengths >= max(_LONG, len(runs.lengths))))
    for place, start, length in zip(*(array[:long].tolist() for array in (runs.places, runs.starts, runs.lengths)), strict=True):
        run = slice(start, start + length)
        _add_run(target[place], rows[run] if runs.order is None else rows, None if runs.order is None else runs.order[run])
    for chunk in chunks(len(runs.places) - long, width):
        part = slice(chunk.start + long, chunk.stop + long)
        sums = target.take(runs.places[part], 0)
        sums += rows.take(runs.places_of_rows(runs.starts[part]), 0)
        for active, places in runs.turns(part):
            sums[:active] += rows.take(places, 0)
        target[runs.places[part]] = sums


def place_largest(target: Any, index: Any, rows: Any) -> None:
    """Write the row number of the first maximum of each index and column to `target`; NaN counts as the maximum."""
    runs = _Runs(index, rows, len(target) + 1)
    for chunk in chunks(len(runs.places), 4 * target.shape[1]):
        largest = rows.take(runs.places_of_rows(runs.starts[chunk]), 0)
        found = np.zeros(largest.shape, np.int32)  # position of the running maximum in its run
        for turn, (active, places) in enumerate(runs.turns(chunk), 1):
            part, best, at = rows.take(places, 0), largest[:active], found[:active]
            better = part > best
            if np.isnan(part.min(initial=0)):
                better |= (part != part) & (best == best)
            np.maximum(best, part, out=best)
            np.maximum(at, np.multiply(better, turn, dtype=np.int32), out=at)
        kept = runs.places[chunk] < len(target)
        target[runs.places[chunk][kept]] = runs.places_of_rows(runs.starts[chunk, None] + found)[kept]


def _add_run(place: Any, rows: Any, chosen: Any) -> None:
    """Add all rows, or the rows numbered `chosen`, to one row of the target."""
    for chunk in chunks(len(rows) if chosen is None else len(chosen), 2 * place.size):
        part = rows[chunk] if chosen is None else rows.take(chosen[chunk], 0)
        np.add.reduce(np.concatenate([place[None], part], dtype=place.dtype), 0, None, place)


def _stable_order(index: Any, count: int) -> Any:
    """Like `index.argsort(kind="stable")`, by sorting integers that contain value and position, which NumPy vectorizes."""
    bits = len(index).bit_length()
    if count.bit_length() + bits > 63:
        return index.argsort(kind="stable")
    keys = np.left_shift(index, bits, dtype=np.int64)
    keys += np.arange(len(index))
    keys.sort()
    return np.bitwise_and(keys, (1 << bits) - 1, keys)


def _add_elements(target: Any, index: Any, rows: Any) -> None:
    width, flat = target.shape[1], target.reshape(-1)  # flat because `np.add.at` has a fast loop for single elements
    columns, step = np.arange(width), max(_AT_ONCE // max(width, 1), 1)
    for start in range(0, len(index), step):
        chunk = slice(start, start + step)
        places = index[chunk, None].astype(np.intp) * width + columns
        np.add.at(flat, places.reshape(-1), rows[chunk].reshape(-1))
