"""Selection of elements along a dimension: `gather` and `topk`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .choice import FLOAT, fast
from .kernels import kernels

_LONG = np.dtype(np.int64)
_MOST = 64  # largest k for this pack's topk, which selects by insertion and is slow for large k


@fast(1)
def gather_along(input: Any, index: Any, dim: int) -> Any:
    shape, picked = input.shape, index.shape
    if index.dtype is not _LONG or not index.flags.c_contiguous:
        return None
    if len(shape) == 2:  # in 2-D, the index may be shorter than the input in the other dimension
        width, after = (1, 1) if dim == 1 else (shape[1], picked[1])
    elif shape[:dim] == picked[:dim] and shape[dim + 1 :] == picked[dim + 1 :]:
        width = after = prod(shape[dim + 1 :])
    else:
        return None
    result = np.empty(picked, FLOAT)
    kernels.gather(result, input, index, shape[dim], picked[dim], width, after)
    return result


@fast(1)
def topk(input: Any, k: int, dim: int, largest: bool) -> Any:
    shape = input.shape
    if dim != len(shape) - 1 or not 0 < k <= _MOST:
        return None
    shape = (*shape[:-1], k)
    values, indices = np.empty(shape, FLOAT), np.empty(shape, _LONG)
    kernels.top(values, indices, input, largest)
    return values, indices
