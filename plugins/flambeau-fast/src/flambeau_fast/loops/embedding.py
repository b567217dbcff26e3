"""Sums of rows by where they belong."""

from __future__ import annotations

from numba import get_num_threads, prange

from . import compiled

_LINE = 16  # elements of a line of the cache, which threads should not share


def strips(width: int) -> int:
    """How many threads are to share the columns."""
    return max(1, min(get_num_threads(), width // _LINE))


@compiled
def sum_rows(out, rows, places, strips):
    """Add each of the rows to that of `out` which is its place; a thread does so for a strip of the columns."""
    width = rows.shape[1]
    for strip in prange(strips):
        first, last = strip * width // strips, (strip + 1) * width // strips
        for i in range(len(rows)):
            row, made = rows[i, first:last], out[places[i], first:last]
            for j in range(len(row)):
                made[j] += row[j]
