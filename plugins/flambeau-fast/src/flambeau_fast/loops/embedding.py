"""Sums of rows by index."""

from __future__ import annotations

from numba import get_num_threads, prange

from . import compiled

_LINE = 16  # elements of a cache line, which threads should not share


def strips(width: int) -> int:
    """The number of threads that share the columns."""
    return max(1, min(get_num_threads(), width // _LINE))


@compiled
def sum_rows(out, rows, places, strips):
    """Add row `i` of `rows` to row `places[i]` of `out`; a thread works on a strip of the columns."""
    width = rows.shape[1]
    for strip in prange(strips):
        first, last = strip * width // strips, (strip + 1) * width // strips
        for i in range(len(rows)):
            row, target = rows[i, first:last], out[places[i], first:last]
            for j in range(len(row)):
                target[j] += row[j]
