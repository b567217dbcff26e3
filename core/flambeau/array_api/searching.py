"""Searching, sorting, set and index functions of the array API."""

from __future__ import annotations

from typing import Any, NamedTuple

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..engine.values.dtypes import COMPLEX
from .elementwise import promote_operands
from .reductions import reduce_over

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "isin",
    "nonzero",
    "searchsorted",
    "sort",
    "take",
    "take_along_axis",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first largest element along an axis."""
    return reduce_over(lambda rows: torch.argmax(rows, -1), x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first smallest element along an axis."""
    return reduce_over(lambda rows: torch.argmin(rows, -1), x, axis, keepdims)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Sort the elements along an axis."""
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the indices that sort the elements along an axis."""
    return torch.argsort(x, dim=axis, descending=descending, stable=stable)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of the nonzero elements, one array per dimension.  Raise ValueError for a 0-d array."""
    if not x.ndim:
        raise ValueError("nonzero() expects an array with at least one dimension, got a 0-d array")
    return tuple(torch.nonzero(x, as_tuple=True))


def searchsorted(x1: Tensor, x2: Tensor | float, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Return the indices at which to insert the values `x2` into `x1`, which is sorted (by `sorter`, if given)."""
    sequence, values = promote_operands(x1, x2)
    if sorter is not None:
        sequence = sequence[sorter]
    return torch.searchsorted(sequence, values.contiguous(), side=side)


def isin(x1: Tensor | complex, x2: Tensor | complex, /, *, invert: bool = False) -> Tensor:
    """For each element of `x1`, whether it occurs in `x2`."""
    return torch.isin(*promote_operands(x1, x2), invert=invert)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return the slices at `indices` along an axis, which is optional for a one-dimensional array."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis is required for an array of {x.ndim} dimensions")
        axis = 0
    axis = axis % x.ndim if -x.ndim <= axis < x.ndim else axis
    return x[(slice(None),) * axis + (indices.to(torch.int64),)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the elements at `indices` along an axis; the other dimensions broadcast."""
    indices = indices.to(torch.int64)
    return torch.take_along_dim(x, torch.where(indices < 0, indices + x.shape[axis], indices), axis)


# --- sets ---------------------------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The distinct elements, and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct elements, and for each element of the input, the position of its value among them."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """Return the sorted distinct elements, the index of the first occurrence of each, the inverse indices, and the counts.

    NaNs count as distinct from each other.
    """
    flat = x.reshape(-1)
    order = _order(flat)
    ordered = flat[order]
    is_new = torch.ones(ordered.shape, dtype=torch.bool, device=x.device)
    is_new[1:] = ordered[1:] != ordered[:-1]
    starts: Any = torch.nonzero(is_new).reshape(-1)
    ranks = torch.argsort(order)
    inverse = (torch.cumsum(is_new, 0) - 1)[ranks].reshape(x.shape)
    counts = torch.diff(starts, append=torch.full((1,), flat.numel(), device=x.device))
    return UniqueAll(ordered[starts], order[starts], inverse, counts)


def _order(flat: Tensor) -> Tensor:
    if flat.dtype.category < COMPLEX:
        return torch.argsort(flat.to(torch.uint8) if flat.dtype is torch.bool else flat, stable=True)
    order = torch.argsort(flat.imag, stable=True)
    return order[torch.argsort(flat.real[order], stable=True)]


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Return the sorted distinct elements, and the count of each."""
    unique = unique_all(x)
    return UniqueCounts(unique.values, unique.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Return the sorted distinct elements, and for each element of `x` its index among them."""
    unique = unique_all(x)
    return UniqueInverse(unique.values, unique.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Return the sorted distinct elements."""
    return unique_all(x).values
