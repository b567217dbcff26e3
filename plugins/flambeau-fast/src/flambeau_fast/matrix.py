"""Products of matrices by oneDNN, which splits batches of small ones over the threads as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import onednn
from .choice import FLOAT, fast

LEAST = 1 << 10  # elements of a matrix, and ...
LEAST_PRODUCTS = 1 << 16  # ... multiplications: below, a call of oneDNN costs more than it saves


def _in_order(array: Any) -> bool:
    """Whether rows, or columns, lie in one piece, and the matrices of a batch one after another."""
    steps, shape = array.strides, array.shape
    row, column = steps[-2:]
    straight = (column == 4 and row >= 4 * shape[-1]) or (row == 4 and column >= 4 * shape[-2])
    return straight and (array.ndim == 2 or steps[0] >= 4 * shape[-1] * shape[-2])


def _product(a: Any, b: Any, bias: Any = None) -> Any:
    if b.dtype is not FLOAT or a.ndim != b.ndim or a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        return None
    if a.size * b.shape[-1] < LEAST_PRODUCTS or not (_in_order(a) and _in_order(b)) or not onednn.available():
        return None
    return onednn.matmul(a, b, np.empty((*a.shape[:-1], b.shape[-1]), FLOAT), bias)


@fast(LEAST)
def mm(a: Any, b: Any) -> Any:
    return _product(a, b) if a.ndim == 2 else None


@fast(LEAST)
def bmm(a: Any, b: Any) -> Any:
    return _product(a, b) if a.ndim == 3 else None


@fast(LEAST, of=1)
def linear(bias: Any, input: Any, weight: Any) -> Any:
    if bias.shape != weight.shape[:1] or bias.dtype is not FLOAT or not input.flags.c_contiguous:
        return None
    made = _product(input.reshape(-1, input.shape[-1]), weight.T, np.ascontiguousarray(bias))
    return None if made is None else made.reshape(*input.shape[:-1], len(weight))
