"""Matrix products of float16 and bfloat16 arrays: accumulated in float32, and rounded once.

The larger operand, usually a weight, is converted to float32 in blocks that stay in the processor's cache until they are
multiplied.  A block consists of contiguous rows of the weight, which are outputs in `x @ weight.T` and inputs in `x @ weight`.
ml_dtypes converts bfloat16 in half the time of a shift of integers in NumPy, but only one thread at a time can do so.  For few
rows, where the conversion takes most of the time, both dtypes are therefore converted by integer operations (`pairs_to_single`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from .chunks import SHARED
from .halves import cast, pairs_to_single
from .threads import SMALL_MATRICES, has_small_products, parts, product, share

__all__ = ["BLOCK", "HALF_PRODUCTS"]

_HALF, _SINGLE = np.dtype(np.float16), np.dtype(np.float32)
BLOCK = 1 << 18  # elements per block; in shorter NumPy calls, threads would wait for each other
_FEW = 24  # number of rows up to which a weight is converted in pairs
_LARGE_BLOCK = 1 << 19  # elements per block for few rows


def _block_size(other: Any) -> int:
    """Return the number of elements per block; more for a large operand, which BLAS copies once per block."""
    rows = len(other)
    if 1 < rows <= _FEW and has_small_products():
        return min(BLOCK, SMALL_MATRICES // rows)
    return max(BLOCK, 2 * other.size)


def _product(a: Any, b: Any) -> Any:
    """Multiply two matrices, with a float32 result."""
    if a.size > b.size:
        return _product(b.T, a.T).T
    single, size = cast(a, _SINGLE), _block_size(a)
    if b.size <= size:
        return product(single, cast(b, _SINGLE))
    return _sum_of_blocks(single, b, size) if b.flags.c_contiguous and len(b) > 1 else _by_outputs(single, b.T)


def _by_outputs(input: Any, weight: Any) -> Any:
    """Compute `input @ weight.T`, converting a block of the weight at a time."""
    rows, (outputs, depth) = len(input), weight.shape
    result = np.empty((rows, outputs), _SINGLE)
    few, is_half, is_large = rows <= _FEW, weight.dtype == _HALF, weight.size >= SHARED
    in_pairs = (is_half or (few and is_large)) and depth % 2 == 0 and weight.strides[1] == 2
    # With few rows, these are scaled instead of the weight: by 2**111, since 2**112 may overflow.
    scaled = input * _SINGLE.type(2.0**111) if few and is_half else input
    left = scaled.reshape(rows, -1, 2).transpose(2, 0, 1).copy() if in_pairs else None

    def multiply(part: slice) -> None:
        block = pairs_to_single(weight[part]) if in_pairs else None
        if block is None:
            np.matmul(input, cast(weight[part], _SINGLE).T, result[:, part])
            return
        if is_half and not few:
            np.multiply(block, _SINGLE.type(2.0**112), block)
        total = result[:, part]
        _multiply_pairs(left, block, total)
        if is_half and few:
            np.multiply(total, _SINGLE.type(2), total)

    if few and in_pairs:  # the blocks do not depend on the number of threads: sums in different blocks may differ
        blocks = parts(outputs, max(1, _LARGE_BLOCK // depth), False)
    else:
        blocks = parts(outputs, max(1, _block_size(input) // depth), is_large)
    share(multiply, blocks, is_large)
    return result


def _multiply_pairs(left: Any, right: Any, out: Any) -> None:
    """Write `left[0] @ right[0].T + left[1] @ right[1].T` to `out`."""
    (_, rows, depth), count = left.shape, right.shape[1]
    if rows == 1:
        np.add(right[0].dot(left[0, 0]), right[1].dot(left[1, 0]), out[0])
        return
    step = SMALL_MATRICES // max(1, rows * depth) if rows <= _FEW and has_small_products() else 0
    whole = count // step * step if step else 0  # the number of columns that are computed by small products, in one call
    if whole:
        first, second = np.matmul(left[:, None], right[:, :whole].reshape(2, -1, step, depth).swapaxes(2, 3))
        out[:, :whole].reshape(rows, -1, step)[...] = np.add(first, second, first).swapaxes(0, 1)
    if whole < count:
        np.add(*np.matmul(left, right[:, whole:].swapaxes(1, 2)), out=out[:, whole:])


def _sum_of_blocks(input: Any, weight: Any, size: int) -> Any:
    """Compute `input @ weight` as a sum over blocks of rows of the weight; they do not depend on the number of threads."""
    step = max(1, size // weight.shape[1])
    blocks = [slice(start, start + step) for start in range(0, len(weight), step)]
    products = share(lambda part: np.matmul(input[:, part], cast(weight[part], _SINGLE)), blocks, weight.size >= SHARED)
    for other in products[1:]:
        np.add(products[0], other, products[0])
    return products[0]


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
    share(multiply, parts(len(a), max(1, BLOCK * len(a) // (a.size + b.size)), is_large), is_large)
    return _rounded(result, a.dtype).reshape(shape)


def linear(bias: Any, input: Any, weight: Any) -> Any:
    output = _product(input.reshape(prod(input.shape[:-1]), input.shape[-1]), weight.T)
    return _rounded(output + cast(bias, _SINGLE), weight.dtype).reshape(*input.shape[:-1], len(weight))


def addmm(bias: Any, input: Any, mat2: Any) -> Any:
    output = _product(input, mat2) if input.ndim == 2 else np.matmul(cast(input, _SINGLE), cast(mat2, _SINGLE))
    return _rounded(output + cast(bias, _SINGLE), mat2.dtype)


HALF_PRODUCTS: Mapping[str, Callable[..., Any]] = {"addmm": addmm, "bmm": bmm, "linear": linear, "mm": mm}
