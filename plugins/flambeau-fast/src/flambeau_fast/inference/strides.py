"""Strides of arrays in a plan, in elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

__all__ = ["DIMS", "collapsed", "contiguous", "is_contiguous", "is_permuted", "order_of", "ordered", "selected", "viewed"]

DIMS = 6  # maximum number of dimensions of a step on strided arrays
_LONGEST_ROW = 4096  # elements: threads divide the rows of a step

Steps = tuple[int, ...]


def contiguous(shape: Sequence[int]) -> Steps:
    """Return the strides of an array in the order of its shape."""
    return tuple(prod(shape[dim + 1 :]) for dim in range(len(shape)))


def ordered(shape: Sequence[int], dims: Sequence[int]) -> Steps:
    """Return the strides of an array whose dimensions are stored in the given order."""
    steps = [0] * len(shape)
    for dim, step in zip(dims, contiguous([shape[dim] for dim in dims]), strict=True):
        steps[dim] = step
    return tuple(steps)


def is_contiguous(shape: Sequence[int], steps: Sequence[int]) -> bool:
    return all(size == 1 or one == other for size, one, other in zip(shape, steps, contiguous(shape), strict=True))


def order_of(steps: Sequence[int]) -> list[int]:
    """Return the dimensions from the longest to the shortest stride."""
    return sorted(range(len(steps)), key=lambda dim: -steps[dim])


def is_permuted(shape: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether an array is contiguous after a permutation of its dimensions except the last."""
    dims = [*order_of(steps[:-1]), len(shape) - 1]
    return is_contiguous([shape[dim] for dim in dims], [steps[dim] for dim in dims])


def viewed(shape: Sequence[int], steps: Sequence[int], result: Sequence[int]) -> Steps | None:
    """Return the strides of an array after a reshape, or None if its elements must be copied."""
    runs: list[tuple[int, int]] = []  # size and stride of dimensions that are adjacent in memory, merged
    for size, step in zip(shape, steps, strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == step * size:
            runs[-1] = (runs[-1][0] * size, step)
        else:
            runs.append((size, step))
    found: list[int] = []
    rest, step = 1, 1
    for size in reversed(result):
        if size == 1:
            found.append(step)
            continue
        if rest == 1:
            if not runs:
                return None
            rest, step = runs.pop()
        if rest % size:
            return None
        found.append(step)
        rest //= size
        step *= size
    return tuple(reversed(found)) if rest == 1 and not runs else None


def selected(shape: Sequence[int], steps: Sequence[int], select: Any) -> tuple[int, tuple[int, ...], Steps]:
    """Return the offset, shape and strides of `select(array)`, a view without changes to the array."""
    array = as_strided(np.zeros(1, np.int8), shape, steps)
    view = select(array)
    offset = view.__array_interface__["data"][0] - array.__array_interface__["data"][0]
    return offset, view.shape, view.strides


def collapsed(shape: Sequence[int], *steps: Sequence[int]) -> list[int]:
    """Return the shape and the strides of each array as `DIMS` numbers each, with mergeable dimensions merged."""
    rows = [row for row in zip(shape, *steps, strict=True) if row[0] != 1] or [(1, *[1] * len(steps))]
    merged = rows[:1]
    for before, row in pairwise(rows):
        if all(one == other * row[0] for one, other in zip(before[1:], row[1:], strict=True)):
            merged[-1] = (merged[-1][0] * row[0], *row[1:])
        else:
            merged.append(row)
    size, *last = merged[-1]
    if size > _LONGEST_ROW:
        width = next((width for width in range(_LONGEST_ROW, _LONGEST_ROW // 4, -1) if size % width == 0), size)
        if width < size and len(merged) < DIMS:
            merged[-1:] = [(size // width, *[step * width for step in last]), (width, *last)]
    padded = [(1, *[0] * len(steps))] * (DIMS - len(merged)) + merged
    return [number for column in zip(*padded, strict=True) for number in column]
