"""Matrix products of float16 and bfloat16 arrays, which read their operands without a copy in float32."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import halves

from .choice import LEAST
from .halves import BFLOAT16, HALF, WORD
from .kernels import kernels

LEAST_PRODUCTS = 0 if LEAST is not None else 1 << 9  # number of multiplications below which NumPy is as fast
DTYPES = {HALF: 0, BFLOAT16: 1}  # the constants FLOAT16 and BFLOAT16 of `half.h`


def _suit(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and a.ndim == b.ndim and a.shape[-1] == b.shape[-2] and a.size * b.shape[-1] >= LEAST_PRODUCTS


def _product(shape: tuple[int, ...], a: Any, b: Any, bias: Any = None) -> Any:
    """Compute `a @ b + bias` for two matrices, reshaped to `shape`."""
    dtype = a.dtype
    result = np.empty(shape, WORD)
    added = None if bias is None else np.ascontiguousarray(bias).view(WORD)
    kernels.half_product(result.reshape(len(a), b.shape[1]), a.view(WORD), b.view(WORD), added, DTYPES[dtype])
    return result.view(dtype)


def mm(a: Any, b: Any) -> Any:
    if a.ndim != 2:
        return bmm(a, b)
    return _product((len(a), b.shape[1]), a, b) if _suit(a, b) else None


def bmm(a: Any, b: Any) -> Any:
    batch = a.shape[:-2]
    if a.ndim < 3 or not _suit(a, b) or b.shape[:-2] != batch:
        return None
    result = np.empty((*batch, a.shape[-2], b.shape[-1]), WORD)
    arrays = [result, a.view(WORD), b.view(WORD)]
    if len(batch) != 2:
        arrays = [array.reshape(-1, *array.shape[-3:]) for array in arrays]
    kernels.half_products(*arrays, DTYPES[a.dtype])
    return result.view(a.dtype)


def linear(bias: Any, input: Any, weight: Any) -> Any:
    if bias.shape != weight.shape[:1] or bias.dtype != weight.dtype:
        return None
    rows, columns = input.reshape(prod(input.shape[:-1]), input.shape[-1]), weight.T
    return _product((*input.shape[:-1], len(weight)), rows, columns, bias) if _suit(rows, columns) else None


def addmm(bias: Any, input: Any, mat2: Any) -> Any:
    if bias.shape != mat2.shape[1:] or bias.dtype != mat2.dtype or not _suit(input, mat2):
        return None
    return _product((len(input), mat2.shape[1]), input, mat2, bias)


halves.LOOPS.update({"addmm": addmm, "bmm": bmm, "linear": linear, "mm": mm})
