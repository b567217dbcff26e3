"""Cumulative sums, products, minima and maxima.

NumPy's `accumulate` processes one element after another, each waiting for the previous one.  If the slices across the dimension
are large enough, each slice is combined with the previous one in one call instead.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS

from .chunks import chunks
from .constants import WIDER
from .kernels import KERNELS
from .layout import in_rows
from .namespace import namespace

__all__: list[str] = []

_WIDE = 256  # minimum number of elements of a slice for combining slices instead of elements


def _by_slices(input: Any, dim: int) -> bool:
    """Whether to combine slices across `dim` instead of accumulating elements along it."""
    return input.size >= _WIDE * input.shape[dim] > _WIDE


# --- sums and products --------------------------------------------------------------------------------------------


def _accumulating(name: str, ufunc: Any) -> None:
    """Register a cumulative kernel that computes in a wider dtype, because rounding errors add up."""

    def kernel(input: Any, dim: int) -> Any:
        wider = WIDER.get(input.dtype)
        if _by_slices(input, dim) and (wider is not None or input.strides[dim] != input.itemsize):
            return _accumulated(ufunc, input, dim, wider or input.dtype)
        return ufunc.accumulate(input, dim, wider).astype(input.dtype, copy=False)  # unlike `np.cumsum`, emits no warnings

    KERNELS[name] = kernel


def _accumulated(ufunc: Any, input: Any, dim: int, wider: Any) -> Any:
    result = np.empty(input.shape, input.dtype)
    slices, done = np.moveaxis(input, dim, 0), np.moveaxis(result, dim, 0)
    last = None
    for chunk in chunks(len(slices), prod(slices.shape[1:])):
        part = slices[chunk].astype(wider, "C")
        if last is not None:
            ufunc(last, part[0], part[0])
        for before, here in pairwise(part):
            ufunc(before, here, here)
        last = part[-1]
        done[chunk] = part
    return result


_accumulating("cumsum", np.add)
_accumulating("cumprod", np.multiply)


# --- extremes -----------------------------------------------------------------------------------------------------


def _running_extreme(name: str, beats: Any) -> None:
    def extremes(slices: Any, start: int, best: Any, places: Any) -> tuple[Any, Any]:
        """Replace each slice by the running extreme, starting from `best` at `places`; return the slices and the indices."""
        found = np.empty(slices.shape, np.int64)
        for place, (here, where) in enumerate(zip(slices, found, strict=True), start):
            loses = np.logical_not(beats(here, best))
            if here.dtype.kind not in "iub":
                np.logical_and(loses, here == here, loses)  # NaN replaces the extreme
            where.fill(place)
            np.copyto(here, best, where=loses)
            np.copyto(where, places, where=loses)
            best, places = here, where
        return slices, found

    def kernel(input: Any, dim: int) -> Any:
        if not _by_slices(input, dim):
            return tuple(map(in_rows, OPS[name].forward(namespace, input, dim)))
        values, indices = np.empty(input.shape, input.dtype), np.empty(input.shape, np.int64)
        slices, best, places = (np.moveaxis(array, dim, 0) for array in (input, values, indices))
        before = slices[0].copy(), np.zeros(slices[0].shape, np.int64)
        for chunk in chunks(len(slices), before[0].size):
            best[chunk], places[chunk] = before = extremes(slices[chunk].copy("C"), chunk.start, *before)
            before = tuple(array[-1] for array in before)
        return values, indices

    KERNELS[name] = kernel


_running_extreme("cummax", np.greater_equal)
_running_extreme("cummin", np.less_equal)
