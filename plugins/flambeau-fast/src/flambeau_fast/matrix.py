"""Products of matrices by oneDNN, which splits batches of small ones over the threads as well."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import onednn
from .choice import FLOAT, fast, is_dense
from .lazy import Lazy

loops = Lazy("loops.matrix")

LEAST = 1 << 10  # elements of a matrix, and ...
LEAST_PRODUCTS = 1 << 17  # ... multiplications: below, NumPy's product, or a call of any other, takes longer than it saves


def _in_order(array: Any) -> tuple[Any, bool] | None:
    """The array, or its transpose, in row-major order, and whether it was the transpose; None where neither lies so."""
    if array.flags.c_contiguous:
        return (array, False) if array.flags.writeable else None
    turned = array.swapaxes(-1, -2)
    return (turned, True) if is_dense(turned) else None


def _factors(a: Any, b: Any) -> tuple[Any, ...] | None:
    """Both factors as loops take them; None where NumPy multiplies them as fast, or has to explain what is wrong."""
    if b.dtype is not FLOAT or a.ndim != b.ndim or a.shape[-1] != b.shape[-2] or a.size * b.shape[-1] < LEAST_PRODUCTS:
        return None
    first, second = _in_order(a), _in_order(b)
    if first is None or second is None or not onednn.available():
        return None
    return *first, *second


@fast(LEAST)
def mm(a: Any, b: Any) -> Any:
    found = _factors(a, b) if a.ndim == 2 else None
    if found is None:
        return None
    made = np.empty((a.shape[0], b.shape[1]), FLOAT)
    loops.product(onednn.gemm(), made, *found)
    return made


@fast(LEAST)
def bmm(a: Any, b: Any) -> Any:
    found = _factors(a, b) if a.ndim == 3 and len(a) == len(b) else None
    if found is None:
        return None
    made = np.empty((*a.shape[:2], b.shape[2]), FLOAT)
    loops.products(onednn.gemm(), made, *found)
    return made


@fast(LEAST, of=1)
def linear(bias: Any, input: Any, weight: Any) -> Any:
    if bias.shape != weight.shape[:1] or not is_dense(bias, input):
        return None
    rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    found = _factors(rows, weight.T)
    if found is None:
        return None
    made = np.empty((*input.shape[:-1], len(weight)), FLOAT)
    loops.affine(onednn.gemm(), made.reshape(len(rows), len(weight)), *found, bias)
    return made


@fast(LEAST, of=1)
def addmm(bias: Any, input: Any, mat2: Any) -> Any:
    if bias.shape != mat2.shape[1:] or not is_dense(bias):
        return None
    found = _factors(input, mat2)
    if found is None:
        return None
    made = np.empty((len(input), mat2.shape[1]), FLOAT)
    loops.affine(onednn.gemm(), made, *found, bias)
    return made
