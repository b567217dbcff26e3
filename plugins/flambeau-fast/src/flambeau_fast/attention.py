"""Attention without a gradient, which never stores the matrix of all scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import onednn
from .choice import FLOAT, fast
from .lazy import Lazy

loops = Lazy("loops.attention")

LEAST = 1 << 12


def _suits(array: Any, like: Any) -> bool:
    """Whether each row is contiguous (rows may be strided) and batch and heads are those of `like`."""
    comparable = array.ndim == 4 and array.dtype is FLOAT and array.shape[:2] == like.shape[:2]
    return comparable and array.strides[3] == 4 <= array.strides[2]


@fast(LEAST)
def attention(query: Any, key: Any, value: Any, scale: float) -> Any:
    if not (all(_suits(array, query) for array in (query, key, value)) and key.size and value.size and onednn.available()):
        return None
    batch, heads, length, size = query.shape
    if key.shape[3] != size or key.shape[2] != value.shape[2]:
        return None
    output = np.empty((batch, length, heads, value.shape[3]), FLOAT).swapaxes(1, 2)  # the heads of a position are adjacent
    loops.attention(onednn.gemm(), output, query, key, value, FLOAT.type(scale))
    return output
