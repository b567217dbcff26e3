"""Matrix products by oneDNN; batches of small matrices are shared between threads."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import onednn
from .choice import FLOAT, fast, is_dense
from .lazy import Lazy

loops = Lazy("loops.matrix")

LEAST = 1 << 10  # elements of a matrix below which NumPy's kernel is faster
LEAST_PRODUCTS = 1 << 17  # multiplications below which NumPy's kernel is faster


def _in_order(array: Any) -> tuple[Any, bool] | None:
    """The array or its transpose, whichever is row-major, and whether it is the transpose; None if neither is row-major."""
    if array.flags.c_contiguous:
        return (array, False) if array.flags.writeable else None
    transposed = array.swapaxes(-1, -2)
    return (transposed, True) if is_dense(transposed) else None


def _factors(a: Any, b: Any) -> tuple[Any, ...] | None:
    """Both factors as loops take them; None if NumPy is as fast, or has to raise the error."""
    if b.dtype is not FLOAT or a.ndim != b.ndim or a.shape[-1] != b.shape[-2] or a.size * b.shape[-1] < LEAST_PRODUCTS:
        return None
    first, second = _in_order(a), _in_order(b)
    if first is None or second is None or not onednn.available():
        return None
    return *first, *second


@fast(LEAST)
def mm(a: Any, b: Any) -> Any:
    factors = _factors(a, b) if a.ndim == 2 else None
    if factors is None:
        return None
    result = np.empty((a.shape[0], b.shape[1]), FLOAT)
    loops.product(onednn.gemm(), result, *factors)
    return result


@fast(LEAST)
def bmm(a: Any, b: Any) -> Any:
    factors = _factors(a, b) if a.ndim == 3 and len(a) == len(b) else None
    if factors is None:
        return None
    result = np.empty((*a.shape[:2], b.shape[2]), FLOAT)
    loops.products(onednn.gemm(), result, *factors)
    return result


@fast(LEAST, of=1)
def linear(bias: Any, input: Any, weight: Any) -> Any:
    if bias.shape != weight.shape[:1] or not is_dense(bias, input):
        return None
    rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    factors = _factors(rows, weight.T)
    if factors is None:
        return None
    result = np.empty((*input.shape[:-1], len(weight)), FLOAT)
    loops.affine(onednn.gemm(), result.reshape(len(rows), len(weight)), *factors, bias)
    return result


@fast(LEAST, of=1)
def addmm(bias: Any, input: Any, mat2: Any) -> Any:
    if bias.shape != mat2.shape[1:] or not is_dense(bias):
        return None
    factors = _factors(input, mat2)
    if factors is None:
        return None
    result = np.empty((len(input), mat2.shape[1]), FLOAT)
    loops.affine(onednn.gemm(), result, *factors, bias)
    return result
