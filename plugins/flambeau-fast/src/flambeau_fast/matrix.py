"""Matrix products; batches of small matrices are split between threads."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .kernels import alone, kernels

LEAST = 1 << 8  # number of elements of the first matrix below which NumPy's kernel is faster
LEAST_PRODUCTS = 1 << 17  # number of multiplications below which NumPy's kernel is faster


def _suit(a: Any, b: Any) -> bool:
    """Whether to use these kernels for the product. Otherwise NumPy is as fast, or raises an error."""
    if b.dtype is not FLOAT or a.ndim != b.ndim or a.shape[-1] != b.shape[-2] or a.size * b.shape[-1] < LEAST_PRODUCTS:
        return False
    return alone()


def _product(shape: tuple[int, ...], a: Any, b: Any, bias: Any = None) -> Any:
    """Compute `a @ b + bias` for two matrices, reshaped to `shape`."""
    result = np.empty(shape, FLOAT)
    kernels.product(result.reshape(len(a), b.shape[1]), a, b, bias)
    return result


@fast(LEAST)
def mm(a: Any, b: Any) -> Any:
    if not _suit(a, b):
        return None
    if a.ndim > 2:
        return _products(a, b)
    shape = a.shape[0], b.shape[1]
    if shape[1] == 1:  # a product with a vector: the kernel reads the matrix in place if it is the second operand
        return _product((1, shape[0]), b.T, a.T).reshape(shape)
    return _product(shape, a, b)


@fast(LEAST)
def bmm(a: Any, b: Any) -> Any:
    return _products(a, b) if a.ndim > 2 and _suit(a, b) else None


def _products(a: Any, b: Any) -> Any:
    """Compute the batched matrix product of arrays with three or more dimensions."""
    batch = a.shape[:-2]
    rows = a.shape[-2]
    if b.shape[:-2] != batch or rows == 1 or (rows == 2 and b.strides[-1] > b.strides[-2]):  # NumPy reads `b` in place
        return None
    result = np.empty((*batch, a.shape[-2], b.shape[-1]), FLOAT)
    arrays = [result, a, b]
    if len(batch) != 2:
        arrays = [array.reshape(-1, *array.shape[-3:]) for array in arrays]
    kernels.products(*arrays)
    return result


@fast(LEAST, of=1)
def linear(bias: Any, input: Any, weight: Any) -> Any:
    if bias.shape != weight.shape[:1] or not is_dense(bias):
        return None
    rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    return _product((*input.shape[:-1], len(weight)), rows, weight.T, bias) if _suit(rows, weight.T) else None


@fast(LEAST, of=1)
def addmm(bias: Any, input: Any, mat2: Any) -> Any:
    if bias.shape != mat2.shape[1:] or not is_dense(bias) or not _suit(input, mat2):
        return None
    return _product((len(input), mat2.shape[1]), input, mat2, bias)
