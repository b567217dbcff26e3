"""Adding rows to those of a table at given indices, which may repeat: gradients of look-ups, bags, segments.

The rows of each index are added one after the other, as PyTorch does: the order decides on last digits. `np.add.at` does so
element by element. What is many times faster is to add the first row of every index at once, then the second of every index
that has one, and so on; and to add many rows of one index by one reduction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .pieces import pieces

__all__ = ["add_rows", "place_largest"]

_FEW = 1 << 16  # elements up to which sorting the indices costs more than it saves
_NARROW = 16  # elements of a row up to which a look-up of rows takes longer than adding elements
_LONG = 1 << 6  # rows of one index from which on they are added up by themselves, if there are fewer indices
_AT_ONCE = 1 << 14  # elements whose places are computed at a time, so that these stay in the cache


class _Runs:
    """The rows of each index, in their order: one run of them for each, the longest runs first."""

    def __init__(self, index: Any, rows: Any, count: int) -> None:
        self.rows, self.order = rows, None  # the order that sorts the index; None where it is sorted
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
        """Where the rows are that are at these places when sorted."""
        return chosen if self.order is None else self.order[chosen]

    def turns(self, piece: slice) -> Iterator[tuple[int, Any]]:
        """For each turn but the first, how many of these runs still have a row, and where these rows are."""
        starts, lengths = self.starts[piece], -self.lengths[piece]
        for turn in range(1, int(-lengths[0])):
            active = int(lengths.searchsorted(-turn))
            yield active, self.places_of_rows(starts[:active] + turn)


def add_rows(target: Any, index: Any, rows: Any) -> None:
    """Add each row to that of the target at its index; indices are neither negative nor too large."""
    width = target.shape[1]
    if rows.size <= _FEW or width < _NARROW:
        _add_elements(target, index, rows)
        return
    runs = _Runs(index, rows, len(target))
    long = int(np.count_nonzero(runs.lengths >= max(_LONG, len(runs.lengths))))
    for place, start, length in zip(*(array[:long].tolist() for array in (runs.places, runs.starts, runs.lengths)), strict=True):
        run = slice(start, start + length)
        _add_run(target[place], rows[run] if runs.order is None else rows, None if runs.order is None else runs.order[run])
    for piece in pieces(len(runs.places) - long, width):
        part = slice(piece.start + long, piece.stop + long)
        sums = target.take(runs.places[part], 0)
        sums += rows.take(runs.places_of_rows(runs.starts[part]), 0)
        for active, places in runs.turns(part):
            sums[:active] += rows.take(places, 0)
        target[runs.places[part]] = sums


def place_largest(target: Any, index: Any, rows: Any) -> None:
    """Write, for each column, where in the rows of its index the largest element comes first; NaN counts as the largest."""
    runs = _Runs(index, rows, len(target) + 1)
    for piece in pieces(len(runs.places), 4 * target.shape[1]):
        largest = rows.take(runs.places_of_rows(runs.starts[piece]), 0)
        found = np.zeros(largest.shape, np.int32)  # the turn of the largest so far
        for turn, (active, places) in enumerate(runs.turns(piece), 1):
            part, best, at = rows.take(places, 0), largest[:active], found[:active]
            better = part > best
            if np.isnan(part.min()):
                better |= (part != part) & (best == best)
            np.maximum(best, part, out=best)
            np.maximum(at, np.multiply(better, turn, dtype=np.int32), out=at)
        kept = runs.places[piece] < len(target)
        target[runs.places[piece][kept]] = runs.places_of_rows(runs.starts[piece, None] + found)[kept]


def _add_run(place: Any, rows: Any, chosen: Any) -> None:
    """Add rows, or those chosen, to one place."""
    for piece in pieces(len(rows) if chosen is None else len(chosen), 2 * place.size):
        part = rows[piece] if chosen is None else rows.take(chosen[piece], 0)
        np.add.reduce(np.concatenate([place[None], part], dtype=place.dtype), 0, None, place)


def _stable_order(index: Any, count: int) -> Any:
    """What `index.argsort(kind="stable")` gives, by a sort of numbers that end in their places, for which NumPy has vectors."""
    bits = len(index).bit_length()
    if count.bit_length() + bits > 63:
        return index.argsort(kind="stable")
    keys = np.left_shift(index, bits, dtype=np.int64)
    keys += np.arange(len(index))
    keys.sort()
    return np.bitwise_and(keys, (1 << bits) - 1, keys)


def _add_elements(target: Any, index: Any, rows: Any) -> None:
    width, flat = target.shape[1], target.reshape(-1)  # `np.add.at` has a fast loop for single elements
    columns, step = np.arange(width), max(_AT_ONCE // max(width, 1), 1)
    for start in range(0, len(index), step):
        piece = slice(start, start + step)
        places = index[piece, None].astype(np.intp) * width + columns
        np.add.at(flat, places.reshape(-1), rows[piece].reshape(-1))
