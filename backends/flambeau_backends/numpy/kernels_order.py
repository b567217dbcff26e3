"""Sorting, ranking and counting: `sort`, `topk`, `kthvalue`, `median`, `isin`, `bincount`.

NumPy sorts and partitions numbers with vector instructions, but its stable argsort does not use them and is many times slower.
Here each element and its index are packed into one integer, and the integers are sorted.  For a single rank, a partition finds
the value, and a search finds which of the equal elements has that rank.
"""

from __future__ import annotations

from functools import lru_cache
from math import isnan, prod
from typing import Any

import numpy as np

from .indices import as_intp
from .kernels import kernel
from .kernels_index import SMALL, elements
from .layout import in_order_of

__all__: list[str] = []

_LONG = 64  # minimum length of the dimension for packed sorting and partitioning
_KEY_BITS = 63  # bits of a nonnegative int64


# --- full sort ----------------------------------------------------------------------------------------------------


def _argsort(input: Any, dim: int, descending: bool) -> Any:
    """Return the indices of a stable sort, ascending or descending; NaN is the largest value."""
    if input.dtype.kind == "V":  # NumPy does not order NaN in bfloat16
        input = input.astype(np.float32)
    if input.shape[dim] >= _LONG and (found := _argsort_by_keys(input, dim, descending)) is not None:
        return found
    if not descending:
        return input.argsort(dim, "stable")
    if input.dtype.kind in "iub":
        return np.invert(input).argsort(dim, "stable")  # inverts the order, and cannot overflow as negation does
    if input.size and not isnan(input.item(input.argmax())):  # argmax finds a NaN, if any
        return np.negative(input).argsort(dim, "stable")
    backwards = (slice(None),) * dim + (slice(None, None, -1),)
    return np.ascontiguousarray(input.shape[dim] - 1 - input[backwards].argsort(dim, "stable")[backwards])


def _argsort_by_keys(input: Any, dim: int, descending: bool) -> Any:
    """Return the indices of a stable sort by sorting int64 keys of rank and index; None if 63 bits are too few."""
    length = input.shape[dim]
    bits = (length - 1).bit_length()
    ranks = _ranks(_as_rows(input, dim), _KEY_BITS - bits)
    if ranks is None:
        return None
    keys = np.invert(ranks, ranks) if descending else ranks
    np.left_shift(keys, bits, keys)
    np.bitwise_or(keys, np.arange(length), keys)
    keys.sort(-1)
    np.bitwise_and(keys, (1 << bits) - 1, keys)
    return np.ascontiguousarray(np.moveaxis(keys, -1, dim))


def _ranks(rows: Any, bits: int) -> Any:
    """Map elements to int64 numbers in the same order, of at most `bits` bits plus sign; None if that is impossible."""
    if rows.dtype.kind != "f":
        if rows.dtype.itemsize < 8 or not rows.size:
            return rows.astype(np.int64)
        least, most = int(rows.min()), int(rows.max())
        return np.subtract(rows, least, dtype=rows.dtype).astype(np.int64) if most - least < 1 << bits else None
    if rows.dtype.itemsize > 4 or bits < 32:
        return None
    singles = np.add(rows, 0.0, dtype=np.float32)  # adding 0 turns -0 into 0
    np.copyto(singles, np.nan, where=singles != singles)  # replace all NaNs by the same positive NaN, so that they are equal
    numbers = singles.view(np.int32)
    np.bitwise_xor(numbers, np.right_shift(numbers, 31) & 0x7FFFFFFF, numbers)  # from sign and magnitude to two's complement
    return numbers.astype(np.int64)


def _as_rows(input: Any, dim: int) -> Any:
    """Move dimension `dim` to the end."""
    return input if dim == input.ndim - 1 else np.moveaxis(input, dim, -1)


@kernel
def sort(input: Any, dim: int, descending: bool) -> Any:
    indices = _argsort(input, dim, descending)
    values = elements(input, indices, dim)
    if input.flags.c_contiguous or 0 in input.strides:
        return values, indices
    return in_order_of(input, values), in_order_of(input, indices)


# --- top k --------------------------------------------------------------------------------------------------------


@kernel
def topk(input: Any, k: int, dim: int, largest: bool) -> Any:
    indices = _leading_by_partition(input, k, dim, largest) if _LONG <= input.shape[dim] > k > 0 else None
    if indices is None:
        order = _argsort(input, dim, largest)
        if order.size <= SMALL:
            indices = order.take(_leading(order.shape, k, dim))
        else:
            indices = order[(slice(None),) * dim + (slice(0, k),)].copy()
    return elements(input, indices, dim), indices


@lru_cache(64)
def _leading(shape: tuple[int, ...], k: int, dim: int) -> Any:
    """Return flat positions of the first `k` elements along `dim` in a contiguous array; cached."""
    return np.arange(prod(shape)).reshape(shape)[(slice(None),) * dim + (slice(0, k),)].copy()


def _leading_by_partition(input: Any, k: int, dim: int, largest: bool) -> Any:
    """Return indices of the first `k` elements in stable sort order, by a partition and a sort of the selected elements.

    Return None if unselected elements equal the last selected one, as a partition selects any of equal elements.
    """
    rows = _as_rows(input.astype(np.float32) if input.dtype.kind == "V" else input, dim)
    split = rows.shape[-1] - k if largest else k - 1
    places = np.argpartition(rows, split, -1)[..., split:] if largest else np.argpartition(rows, split, -1)[..., :k]
    places = np.sort(places, -1)
    first = np.take_along_axis(rows, places, -1)
    edge = (np.fmin if largest else np.maximum).reduce(first, -1, None, None, True)  # the last selected value; NaN is the largest
    if np.count_nonzero(rows == edge) > np.count_nonzero(first == edge) or (edge != edge).any():
        return None
    order = _argsort(first, rows.ndim - 1, largest)
    return np.ascontiguousarray(np.moveaxis(np.take_along_axis(places, order, -1), -1, dim))


# --- selection by rank --------------------------------------------------------------------------------------------


@kernel
def kthvalue(input: Any, rank: int, dim: int, keepdim: bool = False) -> Any:
    if input.shape[dim] < _LONG:
        return _values_and_indices(input, _argsort(input, dim, False).take(rank, dim), dim, keepdim)
    rows = _compared(input, dim)
    return _values_and_indices(input, _indices_of_rank(rows, np.partition(rows, rank, 1)[:, rank], rank), dim, keepdim)


@kernel
def median(input: Any, dim: int, keepdim: bool = False) -> Any:
    rows = _compared(input, dim)
    middle = (rows.shape[1] - 1) // 2
    values, largest = np.partition(rows, middle, 1)[:, middle], np.maximum.reduce(rows, 1)
    np.copyto(values, largest, where=largest != largest)  # the median is NaN if any element is
    return _values_and_indices(input, _indices_of_rank(rows, values, middle), dim, keepdim)


@kernel
def nanmedian(input: Any, dim: int, keepdim: bool = False) -> Any:
    rows = _compared(input, dim)
    known = rows.shape[1] - np.count_nonzero(rows != rows, 1)
    middle = np.maximum(known - 1, 0) // 2
    if (known == rows.shape[1]).all():
        return median(input, dim, keepdim)
    values = np.take_along_axis(np.sort(rows, 1), middle[:, None], 1)[:, 0]
    return _values_and_indices(input, _indices_of_rank(rows, values, middle), dim, keepdim)


def _compared(input: Any, dim: int) -> Any:
    """Reshape slices along `dim` to rows of a matrix, in a dtype whose comparisons NumPy vectorizes."""
    rows = _as_rows(input.astype(np.float32) if input.dtype.kind in "fV" and input.dtype.itemsize < 4 else input, dim)
    return np.ascontiguousarray(rows).reshape(-1, input.shape[dim])


def _indices_of_rank(rows: Any, values: Any, rank: Any) -> Any:
    """Return the index, in each row, of the element with this value and stable rank; for NaN values, the first NaN."""
    values = values[:, None]
    less, equal = rows < values, rows == values
    if (unknown := values[:, 0] != values[:, 0]).any():
        equal[unknown] = rows[unknown] != rows[unknown]
        rank = np.where(unknown, 0, rank)
    counts = np.count_nonzero(equal, 1)
    first = np.add.accumulate(counts) - counts
    places = np.flatnonzero(equal)[first + rank - np.count_nonzero(less, 1)]
    return places - np.arange(len(rows)) * rows.shape[1]


def _values_and_indices(input: Any, places: Any, dim: int, keepdim: bool) -> Any:
    """Return the elements at one index per slice along `dim`, and the indices."""
    kept = (*input.shape[:dim], 1, *input.shape[dim + 1 :])
    indices = places.reshape(kept)
    values = elements(input, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


# --- membership and counts ----------------------------------------------------------------------------------------


@kernel
def among(input: Any, other: Any) -> Any:
    if input.dtype.kind == "V":
        input, other = input.astype(np.float32), other.astype(np.float32)
    if input.size * other.size <= SMALL:
        return np.logical_or.reduce(np.equal(input, other), -1)
    return np.isin(input[..., 0], other)


@kernel
def bincount(input: Any, size: int) -> Any:
    return np.bincount(as_intp(input), minlength=size)
