"""Reductions over axes: sums, means, extremes and truth values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..engine.values.dtypes import INTEGER, dtype
from .data_types import isdtype
from .manipulation import Axes, normalize_axes

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def reduce_over(function: Callable[[Tensor], Tensor], x: Tensor, axis: Axes | None, keepdims: bool) -> Tensor:
    """Apply `function`, which reduces the last dimension, over the given axes, which are flattened into that dimension."""
    axes = normalize_axes(x, axis)
    remaining = [d for d in range(x.ndim) if d not in axes]
    count = 1
    for d in axes:
        count *= x.shape[d]
    result = function(x.permute((*remaining, *axes)).reshape([x.shape[d] for d in remaining] + [count]))
    return result.reshape([1 if d in axes else x.shape[d] for d in range(x.ndim)]) if keepdims else result


def sum_dtype(x: Tensor, dtype: dtype | None) -> dtype | None:
    """Return the dtype to accumulate in: `dtype` if given, int64 or uint64 for integers, None (unchanged) otherwise."""
    if dtype is not None or x.dtype.category > INTEGER:
        return dtype
    return torch.uint64 if isdtype(x.dtype, "unsigned integer") else torch.int64


def sum(x: Tensor, /, *, axis: Axes | None = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """Compute the sum over the given axes."""
    dtype = sum_dtype(x, dtype)
    return reduce_over(lambda rows: torch.sum(rows, -1, dtype=dtype), x, axis, keepdims)


def prod(x: Tensor, /, *, axis: Axes | None = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """Compute the product over the given axes."""
    dtype = sum_dtype(x, dtype)
    return reduce_over(lambda rows: torch.prod(rows, -1, dtype=dtype), x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Compute the mean over the given axes."""
    return reduce_over(lambda rows: torch.mean(rows, -1), x, axis, keepdims)


def std(x: Tensor, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Compute the standard deviation over the given axes, with `N - correction` in the denominator."""
    return reduce_over(lambda rows: torch.std(rows, -1, correction=correction), x, axis, keepdims)


def var(x: Tensor, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Compute the variance over the given axes, with `N - correction` in the denominator."""
    return reduce_over(lambda rows: torch.var(rows, -1, correction=correction), x, axis, keepdims)


def max(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the largest element over the given axes."""
    return reduce_over(lambda rows: torch.amax(rows, -1), x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element over the given axes."""
    return reduce_over(lambda rows: torch.amin(rows, -1), x, axis, keepdims)


def all(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over the given axes are true."""
    return reduce_over(lambda rows: torch.all(rows != 0, -1), x, axis, keepdims)


def any(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Whether any element over the given axes is true."""
    return reduce_over(lambda rows: torch.any(rows != 0, -1), x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Count the nonzero elements over the given axes."""
    return reduce_over(lambda rows: torch.sum(rows != 0, -1), x, axis, keepdims)


def _cumulative(
    function: Callable[..., Tensor], first: int, x: Tensor, axis: int | None, dtype: dtype | None, include_initial: bool
) -> Tensor:
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"axis is required for an array of {x.ndim} dimensions")
        x, axis = x.reshape(-1), 0
    result = function(x, axis, dtype=sum_dtype(x, dtype))
    if not include_initial:
        return result
    shape = [1 if d == axis % x.ndim else size for d, size in enumerate(x.shape)]
    return torch.cat([torch.full(shape, first, dtype=result.dtype, device=result.device), result], axis)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False) -> Tensor:
    """Compute the cumulative sum along an axis, starting with 0 if `include_initial`."""
    return _cumulative(torch.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False
) -> Tensor:
    """Compute the cumulative product along an axis, starting with 1 if `include_initial`."""
    return _cumulative(torch.cumprod, 1, x, axis, dtype, include_initial)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """Compute the `n`-th differences of neighbouring elements along an axis."""
    return torch.diff(x, n, axis, prepend, append)
