"""Sums that remain accurate over long dimensions.

NumPy uses pairwise summation along the contiguous dimension and adds sequentially along any other: a column sum of a million
float32 numbers loses four digits.  Here long dimensions are split into blocks, which are summed recursively.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS
from flambeau.operations.reductions import axis_of

from . import small_rows
from .constants import WIDER, number, ones
from .kernels import kernel
from .layout import in_rows
from .namespace import namespace
from .threads import serially

__all__ = ["column_sums", "products_of_rows", "row_sums", "total", "weighted_column_sums"]

_SMALL = 1 << 13  # number of elements up to which NumPy's sum is accurate enough
_MANY = 1 << 16  # number of elements from which products with ones are faster
_RUN = 256  # number of sequential additions that are accurate enough
_ROW = 8 * _RUN  # longest row that a product with ones sums accurately: BLAS keeps at least eight partial sums
_NARROW = 16
_BLAS_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_add = np.add.reduce


def total(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Compute the sum over dimensions (None: all)."""
    axes = axis_of(dim, input)
    if input.size < _SMALL or input.dtype.kind not in "fc":
        return in_rows(_add(input, axes, None, None, keepdim))
    ndim = input.ndim
    summed = set(range(ndim)) if axes is None else {axis % ndim for axis in (axes if type(axes) is tuple else (axes,))}
    if input.size >= _MANY:
        input = _sum_rows(_sum_repetitions(input, summed), summed)
    if _additions(input, summed) > _RUN:
        input = _sum_blocks(input, summed)
    return in_rows(_add(input, axes, None, None, keepdim))


def _sum_repetitions(input: Any, summed: set[int]) -> Any:
    """Replace the repeated elements of expanded dimensions by one element times their number."""
    if 0 not in input.strides:
        return input
    repeated = [dim for dim in summed if not input.strides[dim] and input.shape[dim] > 1]
    once = input[tuple(slice(0, 1) if dim in repeated else slice(None) for dim in range(input.ndim))]
    return once * input.dtype.type(prod(input.shape[dim] for dim in repeated)) if repeated else input


_SHORT = 64  # row length up to which rows that are not contiguous are summed by `einsum`, which has a special loop


def _sum_rows(input: Any, summed: set[int]) -> Any:
    """Sum over those of the summed dimensions that are last, by a product with ones: in at most a third of the time."""
    first = input.ndim
    while first - 1 in summed:
        first -= 1
    length = prod(input.shape[first:])
    if length < 2 or input.dtype not in _BLAS_DTYPES:
        return input
    kept = input.shape[:first] + (1,) * (input.ndim - first)
    if not input.flags.c_contiguous:
        if first < input.ndim - 1 or length > _SHORT or input.strides[-1] != input.itemsize:
            return input
        return np.einsum("...i->...", input).reshape(kept)
    return serially(row_sums, input.reshape(-1, length)).reshape(kept)


def row_sums(rows: Any) -> Any:
    """Return the sum of each row; one product sums at most `_ROW` elements."""
    length = rows.shape[1]
    if length <= _ROW:
        return rows.dot(ones(length, rows.dtype))
    count, remainder = divmod(length, _ROW)
    whole = length - remainder
    runs = rows[:, :whole].reshape(len(rows), count, _ROW)
    sums = _add(np.matmul(runs, ones(_ROW, rows.dtype)), 1, np.float64)
    if remainder:
        sums += rows[:, whole:].dot(ones(remainder, rows.dtype))
    return sums.astype(rows.dtype)


def _additions(input: Any, summed: set[int]) -> int:
    """Return the number of sequential additions in NumPy's sum: over all summed dimensions except contiguous ones."""
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


def _sum_blocks(input: Any, summed: set[int]) -> Any:
    """Split the longest summed dimension into blocks, and return the sums of the blocks."""
    kept_dims = [dim for dim in range(input.ndim) if dim not in summed]
    if prod(input.shape[dim] for dim in kept_dims) <= _NARROW:  # few long columns: transpose them to rows, summed pairwise
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
    return _sum_blocks(sums, summed) if sums.size > _SMALL and _additions(sums, summed) > _RUN else sums


@kernel
def sum_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None and input.size < _SMALL and not keepdim:
        return _add(input, None)
    if dim == (0,) and input.ndim == 2 and not keepdim and input.dtype in _BLAS_DTYPES:
        return column_sums(input)
    return total(input, dim, keepdim)


def column_sums(matrix: Any) -> Any:
    """Return column sums by products with ones, in half the time of NumPy's sum."""
    return weighted_column_sums(ones(len(matrix), matrix.dtype), matrix)


def weighted_column_sums(weights: Any, matrix: Any) -> Any:
    """Return `weights @ matrix`, for one or several weights per row; one product sums at most `_RUN` rows."""
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
    if 0 < input.size < _SMALL and input.ndim and input.dtype == np.float32:
        return _small_var(input, dim, correction, keepdim)
    centred = input - mean(input, dim, True)
    squares, residual = total(_squared(centred), dim, keepdim), total(centred, dim, keepdim)
    count = input.size / squares.size if squares.size else 0
    divisor = max(0, count - correction)
    if not divisor:
        return squares * squares.dtype.type(np.nan)
    squares = squares - _squared(residual) / squares.dtype.type(count)  # corrects for the rounding of the mean
    return squares / squares.dtype.type(divisor)


def _small_var(input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    """Compute `var` in float64 with fewer calls, whose overhead dominates for few elements."""
    shape, axes = input.shape, axis_of(dim, input)
    length = input.size if axes is None else shape[-1] if axes in (-1, (-1,), len(shape) - 1, (len(shape) - 1,)) else 0
    if length and small_rows.are_small(input.size, length):
        rows = input if len(shape) == 2 and axes is not None else input.reshape(-1, length)
        result = small_rows.variances(rows, length - correction).astype(np.float32)
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


@kernel
def var_mean(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> tuple[Any, Any]:
    return var(input, dim, correction, keepdim), mean(input, dim, keepdim)


@kernel
def std_mean(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> tuple[Any, Any]:
    return std(input, dim, correction, keepdim), mean(input, dim, keepdim)


# --- sums of squares ----------------------------------------------------------------------------------------------


@kernel
def vector_norm(input: Any, p: float, dim: Any = None, keepdim: bool = False) -> Any:
    of_rows = p == 2 and input.size >= _SMALL and input.dtype in _BLAS_DTYPES and input.flags.c_contiguous
    kept = _leading(input, axis_of(dim, input)) if of_rows else None
    if kept is None:
        return in_rows(OPS["vector_norm"].forward(namespace, input, p, dim, keepdim))
    norms = np.sqrt(products_of_rows(rows := input.reshape(prod(kept), -1), rows)).astype(input.dtype)
    return norms.reshape(kept + (1,) * (input.ndim - len(kept)) if keepdim else kept)


def _leading(input: Any, axes: Any) -> tuple[int, ...] | None:
    """Return the lengths of the remaining dimensions if the reduced ones are the last; else None."""
    if axes is None:
        return ()
    reduced = {axis % input.ndim for axis in (axes if type(axes) is tuple else (axes,))}
    first = input.ndim - len(reduced)
    return input.shape[:first] if reduced == set(range(first, input.ndim)) else None


def products_of_rows(rows: Any, others: Any) -> Any:
    """Return the sum of `rows * others` for each row, as float64."""
    length = rows.shape[1]
    whole = length - length % _ROW
    parts, other_parts = (array[:, :whole].reshape(len(rows), -1, _ROW) for array in (rows, others))
    return _add(np.vecdot(parts, other_parts), 1, np.float64) + np.vecdot(rows[:, whole:], others[:, whole:])


@kernel
def nansum(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    result = sum_(input, dim, keepdim)
    if not (result != result).any():
        return result
    return sum_(np.where(input != input, input.dtype.type(0), input), dim, keepdim)


# --- products -----------------------------------------------------------------------------------------------------

_PLACES, _FEWEST = 1 << 10, 64  # most and fewest independent running products; a single one would wait for each multiplication


@kernel
def prod_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    kept = _leading(input, dim) if input.size >= _SMALL and input.dtype in _BLAS_DTYPES and input.flags.c_contiguous else None
    places = 0 if kept is None else min(_PLACES, input.size // prod(kept) // 8)
    wider = WIDER.get(input.dtype)
    if kept is None or places < _FEWEST:
        return in_rows(np.multiply.reduce(input, dim, wider, None, keepdim)).astype(input.dtype, copy=False)
    rows = input.reshape(prod(kept), -1)
    whole = rows.shape[1] - rows.shape[1] % places
    products = np.multiply.reduce(rows[:, :whole].reshape(len(rows), -1, places), 1, wider)
    products[:, : rows.shape[1] - whole] *= rows[:, whole:]
    result = np.multiply.reduce(products, 1).astype(input.dtype, copy=False)
    return result.reshape(kept + (1,) * (input.ndim - len(kept)) if keepdim else kept)
