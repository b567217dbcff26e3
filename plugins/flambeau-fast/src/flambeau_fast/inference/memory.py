"""Memory planning: places of arrays in one arena, by lifetime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Lifetime", "places"]

_ALIGNMENT = 16  # elements: a cache line


class Lifetime(NamedTuple):
    """An array of `size` elements, in use from step `first` to step `last`, inclusive."""

    size: int
    first: int
    last: int


def places(arrays: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Return the offset of each array, and the size of the arena.

    Arrays that are in use at the same time do not overlap.  Larger arrays are placed first, each at the lowest free offset.
    """
    offsets = [0] * len(arrays)
    placed: list[int] = []
    total = 0
    for index in sorted(range(len(arrays)), key=lambda index: -arrays[index].size):
        array = arrays[index]
        size = -(-array.size // _ALIGNMENT) * _ALIGNMENT
        offset = 0
        for other in sorted(placed, key=lambda other: offsets[other]):
            if arrays[other].last < array.first or array.last < arrays[other].first:
                continue
            if offset + size <= offsets[other]:
                break
            offset = max(offset, offsets[other] + -(-arrays[other].size // _ALIGNMENT) * _ALIGNMENT)
        offsets[index] = offset
        placed.append(index)
        total = max(total, offset + size)
    return offsets, total
