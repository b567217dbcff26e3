"""Positions, orders, sets, and elements by index."""

from __future__ import annotations

from typing import Any, NamedTuple

import flambeau as torch

from ..tensors.tensor import Tensor
from ..values.dtypes import COMPLEX
from .elementwise import together
from .reductions import over

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
    """Where the first of the largest elements is."""
    return over(lambda rows: torch.argmax(rows, -1), x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the first of the smallest elements is."""
    return over(lambda rows: torch.argmin(rows, -1), x, axis, keepdims)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis."""
    return torch.sort(x, dim=axis, descending=descending, stable=stable).values  # type: ignore[no-any-return]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that put the elements in order along an axis."""
    return torch.argsort(x, dim=axis, descending=descending, stable=stable)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, an array for each dimension.  ValueError for a 0-d array."""
    if not x.ndim:
        raise ValueError("nonzero() expects an array of at least one dimension, not a 0-d one")
    return tuple(torch.nonzero(x, as_tuple=True))


def searchsorted(x1: Tensor, x2: Tensor | float, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where the values `x2` belong in `x1`, which is sorted (by `sorter`, if it is given)."""
    sequence, values = together(x1, x2)
    if sorter is not None:
        sequence = sequence[sorter]
    return torch.searchsorted(sequence, values.contiguous(), side=side)


def isin(x1: Tensor | complex, x2: Tensor | complex, /, *, invert: bool = False) -> Tensor:
    """For each element of `x1`, whether it is among `x2`."""
    return torch.isin(*together(x1, x2), invert=invert)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The parts at these indices along an axis, which an array of one dimension need not name."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis has to be given for an array of {x.ndim} dimensions")
        axis = 0
    axis = axis % x.ndim if -x.ndim <= axis < x.ndim else axis
    return x[(slice(None),) * axis + (indices.to(torch.int64),)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each index, the element at it along an axis; the other dimensions broadcast."""
    indices = indices.to(torch.int64)
    return torch.take_along_dim(x, torch.where(indices < 0, indices + x.shape[axis], indices), axis)


# --- sets ---------------------------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements in order, where each comes first, which one each element is, and how often each comes.

    Every NaN is distinct.
    """
    flat = x.reshape(-1)
    order = _order(flat)
    ordered = flat[order]
    is_new = torch.ones(ordered.shape, dtype=torch.bool, device=x.device)
    is_new[1:] = ordered[1:] != ordered[:-1]
    starts: Any = torch.nonzero(is_new).reshape(-1)
    place = torch.argsort(order)
    inverse = (torch.cumsum(is_new, 0) - 1)[place].reshape(x.shape)
    counts = torch.diff(starts, append=torch.full((1,), flat.numel(), device=x.device))
    return UniqueAll(ordered[starts], order[starts], inverse, counts)


def _order(flat: Tensor) -> Tensor:
    if flat.dtype.category < COMPLEX:
        return torch.argsort(flat.to(torch.uint8) if flat.dtype is torch.bool else flat, stable=True)
    order = torch.argsort(flat.imag, stable=True)
    return order[torch.argsort(flat.real[order], stable=True)]


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements in order, and how often each comes."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements in order, and which one each element is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements in order."""
    return unique_all(x).values
