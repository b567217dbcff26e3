"""Sums over all dimensions, or over the first and last ones, as for the gradient of a channel bias; means of images."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .kernels import kernels

LEAST = 1 << 14
LEAST_MEAN = 1 << 8
STRIP = 1 << 15  # number of elements per partial sum


def _kept_dims(ndim: int, dim: Any) -> range | None:
    """Return the dimensions that are not summed; None if they are not adjacent."""
    dims = dim if isinstance(dim, (tuple, list)) else [dim]
    summed = range(ndim) if dim is None or dim == () else {d % ndim for d in dims}
    remaining = [d for d in range(ndim) if d not in summed]
    span = range(remaining[0], remaining[-1] + 1) if remaining else range(0)
    return span if len(span) == len(remaining) else None


def total(array: Any) -> Any:
    """Return the sum of all elements of a dense array, in float64."""
    strips = np.empty(-(-array.size // STRIP), np.float64)
    kernels.sums_of_strips(strips, array.reshape(-1))
    return strips.sum()


@fast(LEAST)
def sum_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    kept_dims = _kept_dims(input.ndim, dim) if is_dense(input) else None
    if kept_dims is None or not input.size:
        return None
    shape = input.shape
    before, width, after = (
        prod(shape[: kept_dims.start]),
        prod(shape[kept_dims.start : kept_dims.stop]),
        prod(shape[kept_dims.stop :]),
    )
    if not kept_dims:
        sums = total(input).astype(FLOAT)
    elif after > 1:
        sums = np.empty(width, FLOAT)
        kernels.sums_of_channels(sums, input.reshape(before, width, after))
    else:  # for column sums, NumPy's kernel is as fast
        return None
    return sums.reshape([n if d in kept_dims else 1 for d, n in enumerate(input.shape) if keepdim or d in kept_dims])


@fast(LEAST_MEAN)
def mean(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    kept = input.ndim - 2  # dimensions that remain: the mean of each image, as in global average pooling
    if kept < 1 or not input.size or not isinstance(dim, (tuple, list)):
        return None
    if sorted(d % input.ndim for d in dim) != [kept, kept + 1]:
        return None
    result = np.empty((*input.shape[:kept], 1, 1) if keepdim else input.shape[:kept], FLOAT)
    kernels.means_of_rows(result, input.reshape(prod(input.shape[:kept]), -1))
    return result
