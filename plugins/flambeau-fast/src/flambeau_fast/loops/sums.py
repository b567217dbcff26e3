"""Sums.  Few numbers are added one after the other in single precision: what they come to is added in double."""

from __future__ import annotations

from numba import prange

from . import compiled
from .scalar import f32


@compiled
def of_strips(out, x):
    """The sums of strips of a vector, as many as `out` has room for."""
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
    """The sums of `(sample, channel, place)` for each channel."""
    for c in prange(x.shape[1]):
        total = 0.0
        for n in range(len(x)):
            row, few = x[n, c], f32(0)
            for j in range(len(row)):
                few += row[j]
            total += few
        out[c] = total
