"""Sums.  Short runs are added in single precision, and their sums in double."""

from __future__ import annotations

from numba import prange

from . import compiled
from .scalar import f32


@compiled
def of_strips(out, x):
    """The sums of `len(out)` strips of a vector."""
    count = len(out)
    for strip in prange(count):
        total = 0.0
        part = x[strip * len(x) // count : (strip + 1) * len(x) // count]
        for start in range(0, len(part), 4096):
            piece, few = part[start : start + 4096], f32(0)
            for j in range(len(piece)):
                few += piece[j]
            total += few
        out[strip] = total


@compiled
def of_channels(out, x):
    """The sum of each channel of `(sample, channel, position)`."""
    for c in prange(x.shape[1]):
        total = 0.0
        for n in range(len(x)):
            row, few = x[n, c], f32(0)
            for j in range(len(row)):
                few += row[j]
            total += few
        out[c] = total
