"""Sums that stay accurate over long dimensions.

NumPy uses pairwise summation along the contiguous dimension, and adds sequentially along any other: the sum of a
million float32 numbers down a column loses four digits.  Here long dimensions are cut into blocks, and the blocks are summed,
recursively.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from flambeau.operations.reductions import axis_of

from . import few
from .constants import number, ones
from .kernels import KERNELS, kernel
from .layout import in_rows

__all__ = ["column_sums", "total", "weighted_column_sums"]

_SMALL = 1 << 13  # elements up to which NumPy's sum is accurate enough
_RUN = 256  # sequential additions that are accurate enough
_NARROW = 16
_add = np.add.reduce


def total(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum over dimensions (all, for None)."""
    axes = axis_of(dim, input)
    if input.size < _SMALL or input.dtype.kind not in "fc":
        return in_rows(_add(input, axes, None, None, keepdim))
    ndim = input.ndim
    summed = set(range(ndim)) if axes is None else {axis % ndim for axis in (axes if type(axes) is tuple else (axes,))}
    if _additions(input, summed) > _RUN:
        input = _of_blocks(input, summed)
    return in_rows(_add(input, axes, None, None, keepdim))


def _additions(input: Any, summed: set[int]) -> int:
    """How many numbers NumPy would add sequentially: those along all summed dimensions but the contiguous ones."""
    length, stride = 1, input.itemsize
    order = sorted(range(input.ndim), key=lambda dim: abs(input.strides[dim]))
    together = True
    for dim in order:
        n = input.shape[dim]
        if n == 1:
            continue
        together = together and dim in summed and abs(input.strides[dim]) == stride
        stride *= n
        if dim in summed and not together:
            length *= n
    return length


def _of_blocks(input: Any, summed: set[int]) -> Any:
    """Partial sums over the dimensions `summed`, where the longest of them has been cut into blocks."""
    kept_dims = [dim for dim in range(input.ndim) if dim not in summed]
    if prod(input.shape[dim] for dim in kept_dims) <= _NARROW:  # few long columns: as rows, NumPy sums them pairwise
        rows = np.ascontiguousarray(input.transpose(*kept_dims, *summed))
        sums = _add(rows.reshape(*rows.shape[: len(kept_dims)], -1), -1)
        return np.expand_dims(sums, tuple(sorted(summed)))
    axis = max(summed, key=input.shape.__getitem__)
    block = max(1, _RUN * input.shape[axis] // _additions(input, summed))
    count, remainder = divmod(input.shape[axis], block)
    before, after = input.shape[:axis], input.shape[axis + 1 :]
    leading = (slice(None),) * axis
    whole = input[(*leading, slice(0, count * block))].reshape(*before, count, block, *after)
    within = tuple(dim + (dim >= axis) for dim in summed)
    sums = _add(whole, within, None, None, True)
    sums = sums.reshape([count if dim == axis else 1 if dim in summed else n for dim, n in enumerate(input.shape)])
    if remainder:
        tail = _add(input[(*leading, slice(count * block, None))], tuple(summed), None, None, True)
        sums = np.concatenate([sums, tail], axis)
    return _of_blocks(sums, summed) if sums.size > _SMALL and _additions(sums, summed) > _RUN else sums


@kernel
def sum_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None and input.size < _SMALL and not keepdim:
        return _add(input, None)
    if dim == (0,) and input.ndim == 2 and not keepdim and input.dtype in _OF_BLAS:
        return column_sums(input)
    return total(input, dim, keepdim)


_OF_BLAS = (np.dtype(np.float32), np.dtype(np.float64))


def column_sums(matrix: Any) -> Any:
    """The sums of the columns, by products with ones, which takes half the time."""
    return weighted_column_sums(ones(len(matrix), matrix.dtype), matrix)


def weighted_column_sums(weights: Any, matrix: Any) -> Any:
    """`weights @ matrix`, for one weight or several of each row; no more than `_RUN` rows are added at once."""
    rows, columns = matrix.shape
    if rows <= _RUN:
        return weights.dot(matrix)
    count, remainder = divmod(rows, _RUN)
    whole = rows - remainder
    runs = weights[..., :whole].reshape(-1, count, _RUN).transpose(1, 0, 2)
    sums = _add(np.matmul(runs, matrix[:whole].reshape(count, _RUN, columns)), 0, np.float64)
    if remainder:
        sums += weights[..., whole:].dot(matrix[whole:])
    return sums.astype(matrix.dtype).reshape(*weights.shape[:-1], columns)


@kernel
def mean(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    result = total(input, dim, keepdim)
    return result / result.dtype.type(input.size / max(result.size, 1)) if input.size else result * np.nan


@kernel
def var(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    if 0 < input.size < _SMALL and input.dtype == np.float32:
        return _var_of_few(input, dim, correction, keepdim)
    centred = input - mean(input, dim, True)
    squares, residual = total(_squared(centred), dim, keepdim), total(centred, dim, keepdim)
    count = input.size / squares.size if squares.size else 0
    divisor = max(0, count - correction)
    if not divisor:
        return squares * squares.dtype.type(np.nan)
    squares = squares - _squared(residual) / squares.dtype.type(count)  # corrects for the rounding of the mean
    return squares / squares.dtype.type(divisor)


def _var_of_few(input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    """Like `var`, in double precision: fewer calls, whose overhead is what counts for few elements."""
    shape, axes = input.shape, axis_of(dim, input)
    length = input.size if axes is None else shape[-1] if axes in (-1, (-1,), len(shape) - 1, (len(shape) - 1,)) else 0
    if length and few.are_few(input.size, length):
        rows = input if len(shape) == 2 and axes is not None else input.reshape(-1, length)
        result = few.variances(rows, length - correction).astype(np.float32)
        if len(shape) == 2 and axes is not None and not keepdim:
            return result
        leading = (1,) * len(shape) if axes is None else (*shape[:-1], 1)
        return result.reshape(leading if keepdim else leading[:0] if axes is None else leading[:-1])
    centre = _add(input, axes, np.float64, None, True)
    count = input.size // centre.size
    np.divide(centre, number(count, np.float64), centre)
    centred = np.subtract(input, centre)
    squares = in_rows(_add(np.multiply(centred, centred, centred), axes, None, None, keepdim))
    divisor = count - correction
    return np.divide(squares, number(divisor if divisor > 0 else np.nan, np.float64)).astype(np.float32)


def _squared(x: Any) -> Any:
    return np.square(x.real) + np.square(x.imag) if x.dtype.kind == "c" else np.square(x)


@kernel
def std(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    return np.sqrt(var(input, dim, correction, keepdim))


# --- in double precision: in a cumulative result, rounding errors add up ------------------------------------------

_WIDER = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}


def _in_double(name: str, accumulate: Any) -> None:
    def kernel_in_double(input: Any, dim: int) -> Any:
        return accumulate(input, axis=dim, dtype=_WIDER.get(input.dtype)).astype(input.dtype, copy=False)

    KERNELS[name] = kernel_in_double


_in_double("cumsum", np.add.accumulate)  # `np.cumsum` would warn of overflow, and not in the name of a module of ours
_in_double("cumprod", np.multiply.accumulate)


@kernel
def prod_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    result = in_rows(np.multiply.reduce(input, dim, _WIDER.get(input.dtype), None, keepdim))
    return result.astype(input.dtype, copy=False)
