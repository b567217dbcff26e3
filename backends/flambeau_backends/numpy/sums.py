"""Sums that stay accurate over long dimensions.

NumPy adds pairwise along the dimension that lies together in memory, and one after the other along any other: the sum of a
million float32 numbers down a column loses four digits.  Here long dimensions are cut into blocks, the blocks are summed,
and then their sums, as often as it takes.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from flambeau.operations.reductions import axis_of

from .kernels import KERNELS, kernel

__all__ = ["column_sums", "ones", "total"]

_SMALL = 1 << 13  # elements that need no care
_RUN = 256  # additions one after the other that do no harm
_NARROW = 16
_add = np.add.reduce


def total(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum over dimensions (all, for None)."""
    axes = axis_of(dim, input)
    if input.size < _SMALL or input.dtype.kind not in "fc":
        made = _add(input, axes, None, None, keepdim)
        return made if made.flags.c_contiguous else np.ascontiguousarray(made)
    ndim = input.ndim
    summed = set(range(ndim)) if axes is None else {each % ndim for each in (axes if type(axes) is tuple else (axes,))}
    if _additions(input, summed) > _RUN:
        input = _of_blocks(input, summed)
    made = _add(input, axes, None, None, keepdim)
    return made if made.flags.c_contiguous else np.ascontiguousarray(made)


def _additions(input: Any, summed: set[int]) -> int:
    """How many numbers NumPy would add one after the other: all but those of the dimensions that lie together."""
    length, step = 1, input.itemsize
    order = sorted(range(input.ndim), key=lambda each: abs(input.strides[each]))
    together = True
    for each in order:
        n = input.shape[each]
        if n == 1:
            continue
        together = together and each in summed and abs(input.strides[each]) == step
        step *= n
        if each in summed and not together:
            length *= n
    return length


def _of_blocks(input: Any, summed: set[int]) -> Any:
    """The array with the longest dimension cut into blocks that have been summed, over all these dimensions."""
    others = [each for each in range(input.ndim) if each not in summed]
    if prod(input.shape[each] for each in others) <= _NARROW:  # few long columns: laid out as rows, NumPy does it pairwise
        rows = np.ascontiguousarray(input.transpose(*others, *summed))
        made = _add(rows.reshape(*rows.shape[: len(others)], -1), -1)
        return np.expand_dims(made, tuple(sorted(summed)))
    axis = max(summed, key=input.shape.__getitem__)
    block = max(1, _RUN * input.shape[axis] // _additions(input, summed))
    count, rest = divmod(input.shape[axis], block)
    before, after = input.shape[:axis], input.shape[axis + 1 :]
    lead = (slice(None),) * axis
    whole = input[(*lead, slice(0, count * block))].reshape(*before, count, block, *after)
    within = tuple(each + (each >= axis) for each in summed)
    made = _add(whole, within, None, None, True)
    made = made.reshape([count if each == axis else 1 if each in summed else n for each, n in enumerate(input.shape)])
    if rest:
        left = _add(input[(*lead, slice(count * block, None))], tuple(summed), None, None, True)
        made = np.concatenate([made, left], axis)
    return _of_blocks(made, summed) if made.size > _SMALL and _additions(made, summed) > _RUN else made


@kernel
def sum_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None and input.size < _SMALL and not keepdim:
        return _add(input, None)
    if dim == (0,) and input.ndim == 2 and not keepdim and input.dtype in _OF_BLAS:
        return column_sums(input)
    return total(input, dim, keepdim)


_OF_BLAS = (np.dtype(np.float32), np.dtype(np.float64))


def column_sums(matrix: Any) -> Any:
    """The sums of the columns, as products with ones: they take half the time or less, and add no more than a run."""
    rows, columns = matrix.shape
    if rows <= _RUN:
        return ones(rows, matrix.dtype).dot(matrix)
    count, rest = divmod(rows, _RUN)
    made = np.matmul(ones(_RUN, matrix.dtype), matrix[: rows - rest].reshape(count, _RUN, columns))
    if rest:
        made[0] += ones(rest, matrix.dtype).dot(matrix[rows - rest :])
    return column_sums(made)


def ones(count: int, dtype: Any) -> Any:
    """A vector of ones, for products that are sums.  It is not to be written to."""
    return _few_ones(count, dtype) if count < _SMALL else np.ones(count, dtype)


_few_ones = lru_cache(32)(np.ones)


@kernel
def mean(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    made = total(input, dim, keepdim)
    return made / made.dtype.type(input.size / max(made.size, 1)) if input.size else made * np.nan


@kernel
def var(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    centred = input - mean(input, dim, True)
    made, rest = total(_squared(centred), dim, keepdim), total(centred, dim, keepdim)
    count = input.size / made.size if made.size else 0
    divisor = max(0, count - correction)
    if not divisor:
        return made * made.dtype.type(np.nan)
    made = made - _squared(rest) / made.dtype.type(count)  # what rounding the mean added
    return made / made.dtype.type(divisor)


def _squared(x: Any) -> Any:
    return np.square(x.real) + np.square(x.imag) if x.dtype.kind == "c" else np.square(x)


@kernel
def std(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    return np.sqrt(var(input, dim, correction, keepdim))


# --- in double precision: what one element adds stays in all that follow ---------------------------------------------------

_WIDER = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}


def _in_double(name: str, accumulate: Any) -> None:
    def made(input: Any, dim: int) -> Any:
        return accumulate(input, axis=dim, dtype=_WIDER.get(input.dtype)).astype(input.dtype, copy=False)

    KERNELS[name] = made


_in_double("cumsum", np.cumsum)
_in_double("cumprod", np.cumprod)


@kernel
def prod_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    made = np.multiply.reduce(input, dim, _WIDER.get(input.dtype), None, keepdim)
    return made.astype(input.dtype, copy=False)
