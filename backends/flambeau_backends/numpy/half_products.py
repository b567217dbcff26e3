"""Matrix products of float16 and bfloat16 arrays: accumulated in float32, and rounded once.

The larger operand, usually a weight, is converted to float32 in blocks that stay in the processor's cache until they are
multiplied.  ml_dtypes converts bfloat16 in half the time of a shift of integers in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from .chunks import SHARED, cache_size
from .halves import cast
from .threads import parts, product, share

__all__ = ["HALF_PRODUCTS"]

_SINGLE = np.dtype(np.float32)


def _block_size(other: Any) -> int:
    """Return the number of elements per block: half of the cache, or more for a large operand, which BLAS copies."""
    return max(cache_size() // 8, 2 * other.size)


def _product(a: Any, b: Any) -> Any:
    """Multiply two matrices, with a float32 result."""
    if a.size > b.size:
        return _product(b.T, a.T).T
    single, columns = cast(a, _SINGLE), b.shape[1]
    step = max(1, _block_size(a) // max(len(b), 1))
    if step >= columns:
        return product(single, cast(b, _SINGLE))
    result = np.empty((len(a), columns), _SINGLE)

    def multiply(part: slice) -> None:
        np.matmul(single, cast(b[:, part], _SINGLE), result[:, part])

    is_large = b.size >= SHARED
    share(multiply, parts(columns, step, is_large), is_large)
    return result


def _rounded(result: Any, dtype: Any) -> Any:
    return cast(np.ascontiguousarray(result), dtype)


def mm(a: Any, b: Any) -> Any:
    return _rounded(_product(a, b), a.dtype) if a.ndim == 2 else bmm(a, b)


def bmm(a: Any, b: Any) -> Any:
    if a.shape[:-2] != b.shape[:-2] or not a.size:
        return _rounded(np.matmul(cast(a, _SINGLE), cast(b, _SINGLE)), a.dtype)
    shape = (*a.shape[:-1], b.shape[-1])
    a, b = (array.reshape(prod(array.shape[:-2]), *array.shape[-2:]) for array in (a, b))
    result = np.empty((len(a), *shape[-2:]), _SINGLE)

    def multiply(part: slice) -> None:
        np.matmul(cast(a[part], _SINGLE), cast(b[part], _SINGLE), result[part])

    is_large = a.size + b.size >= SHARED
    share(multiply, parts(len(a), max(1, cache_size() // 8 * len(a) // (a.size + b.size)), is_large), is_large)
    return _rounded(result, a.dtype).reshape(shape)


def linear(bias: Any, input: Any, weight: Any) -> Any:
    output = _product(input.reshape(prod(input.shape[:-1]), input.shape[-1]), weight.T)
    return _rounded(output + cast(bias, _SINGLE), weight.dtype).reshape(*input.shape[:-1], len(weight))


def addmm(bias: Any, input: Any, mat2: Any) -> Any:
    output = _product(input, mat2) if input.ndim == 2 else np.matmul(cast(input, _SINGLE), cast(mat2, _SINGLE))
    return _rounded(output + cast(bias, _SINGLE), mat2.dtype)


HALF_PRODUCTS: Mapping[str, Callable[..., Any]] = {"addmm": addmm, "bmm": bmm, "linear": linear, "mm": mm}
