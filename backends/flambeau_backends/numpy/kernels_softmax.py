"""Softmax, log-softmax, cross entropy and negative log-likelihood loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, prod
from typing import Any

import numpy as np

from . import small_rows
from .chunks import CHUNK, SHARED, map_chunks
from .constants import ones
from .error_state import without_warnings
from .kernels import kernel
from .threads import share

_EXP_LIMIT = 46.0  # magnitude of inputs up to which exponentials are summed without overflow and with negligible underflow
_LOG_LIMIT = 24.0  # magnitude of inputs up to which the logarithm of a sum of exponentials is precise enough for small losses
_WIDE = 64  # from this number of elements after the dimension, vectors along it are processed without transposing
_BROAD = 512  # minimum number of vectors processed side by side, as shorter runs of memory are not prefetched
_LEAST_SUM = {limit: exp(-limit) for limit in (_EXP_LIMIT, _LOG_LIMIT)}


# --- exponentials and their sums ----------------------------------------------------------------------------------


def _as_rows(input: Any, dim: int) -> Any:
    """Reshape to a contiguous matrix whose rows run along `dim`."""
    if input.ndim == 2 and dim in (1, -1):
        return np.ascontiguousarray(input)
    moved = input if dim % max(input.ndim, 1) == input.ndim - 1 else np.moveaxis(input, dim, -1)
    return np.ascontiguousarray(moved).reshape(-1, moved.shape[-1])


def _from_rows(rows: Any, like: Any, dim: int) -> Any:
    """Reshape a matrix to the shape of `like`: the inverse of `_as_rows`."""
    if dim % max(like.ndim, 1) == like.ndim - 1:
        return rows.reshape(like.shape)
    moved = np.moveaxis(like, dim, -1).shape
    return np.ascontiguousarray(np.moveaxis(rows.reshape(moved), -1, dim))


def _row_sums(rows: Any) -> Any:
    return rows.dot(ones(rows.shape[1], rows.dtype))


def row_sums(rows: Any) -> Any:
    return _row_sums(rows)[:, None]


def _exponentials(out: Any, rows: Any, limit: float) -> tuple[Any, Any]:
    """Fill `out` with exponentials of `rows`; return their row sums, and the subtracted maxima (None if none were subtracted).

    Maxima are subtracted only if a number exceeds `limit`, since computing them takes most of the time.
    """
    if -limit < rows.item(rows.argmax()) < limit:
        np.exp(rows, out)
        sums = row_sums(out)
        if sums.item(sums.argmin()) > _LEAST_SUM[limit]:
            return sums, None
    return _shifted_exponentials(out, rows)


@without_warnings
def _shifted_exponentials(out: Any, rows: Any) -> tuple[Any, Any]:
    shift = rows.max(1, keepdims=True)
    np.subtract(rows, shift, out)
    np.exp(out, out)
    return row_sums(out), shift


def _exponentials_of_columns(out: Any, columns: Any, limit: float) -> tuple[Any, Any]:
    """Like `_exponentials`, along the second of three dimensions."""
    if -limit < columns.max() < limit:
        np.exp(columns, out)
        sums = np.add.reduce(out, 1, keepdims=True)
        if sums.min() > _LEAST_SUM[limit]:
            return sums, None
    shift = columns.max(1, keepdims=True)
    np.exp(np.subtract(columns, shift, out), out)
    return np.add.reduce(out, 1, keepdims=True), shift


def _by_rows(compute: Callable[..., None], dim: int, *arrays: Any) -> Any:
    """Return an array filled by `compute(out, *chunks)`, in which chunks are matrices whose rows run along `dim`."""
    first = arrays[0]
    shape, ndim = first.shape, first.ndim
    if not first.size:
        return np.empty(shape, first.dtype)
    if first.size <= CHUNK and dim in (-1, ndim - 1):
        result = np.empty(shape, first.dtype)
        if ndim == 2:
            compute(result, *arrays)
        else:
            compute(*[array.reshape(-1, shape[-1]) for array in (result, *arrays)])
        return result
    matrices = [_as_rows(array, dim) for array in arrays]
    result = np.empty(matrices[0].shape, first.dtype)
    _compute_pieces(compute, result, *matrices)
    return _from_rows(result, first, dim)


def _along(by_rows: Callable[..., None], by_columns: Callable[..., None], dim: int, *arrays: Any) -> Any:
    """Return an array filled by `by_rows` or `by_columns`, depending on the number of elements after `dim`.

    `by_rows` receives chunks `(row, position along dim)`, `by_columns` receives chunks `(outer, position along dim, inner)`.
    """
    shape = arrays[0].shape
    after = prod(shape[dim % max(len(shape), 1) + 1 :])
    if after < _WIDE or not arrays[0].size or not all(array.flags.c_contiguous for array in arrays):
        return _by_rows(by_rows, dim, *arrays)
    result = np.empty(shape, arrays[0].dtype)
    _compute_columns(by_columns, *(array.reshape(-1, shape[dim], after) for array in (result, *arrays)))
    return result


@without_warnings
def _compute_columns(compute: Callable[..., None], *arrays: Any) -> None:
    before, length, after = arrays[0].shape

    def some_columns(outer: slice, columns: slice) -> None:
        compute(*(array[outer, :, columns] for array in arrays))

    step = max(CHUNK // length, _BROAD)
    blocks = [slice(start, start + step) for start in range(0, after, step)]
    if before == 1:
        share(lambda columns: some_columns(slice(None), columns), blocks, length * after >= SHARED)
    else:
        map_chunks(lambda outer: [some_columns(outer, columns) for columns in blocks], before, length * after)


@without_warnings
def _compute_pieces(compute: Callable[..., None], result: Any, *matrices: Any) -> None:
    map_chunks(lambda chunk: compute(result[chunk], *(matrix[chunk] for matrix in matrices)), *result.shape)


# --- softmax ------------------------------------------------------------------------------------------------------


@kernel
def softmax(input: Any, dim: int) -> Any:
    rows = small_rows.as_rows(input, dim)
    result = None if rows is None else small_rows.softmax(rows)
    if result is None:
        return _along(_softmax_rows, _softmax_columns, dim, input)
    return result if rows is input else result.reshape(input.shape)


def _softmax_rows(out: Any, rows: Any) -> None:
    sums, _ = _exponentials(out, rows, _EXP_LIMIT)
    np.divide(out, sums, out)  # multiplying by a reciprocal would not give exactly 1 for a single class


def _softmax_columns(out: Any, columns: Any) -> None:
    sums, _ = _exponentials_of_columns(out, columns, _EXP_LIMIT)
    np.divide(out, sums, out)  # multiplying by a reciprocal would not give exactly 1 for a single class


@kernel
def log_softmax(input: Any, dim: int) -> Any:
    rows = small_rows.as_rows(input, dim)
    result = None if rows is None else small_rows.log_softmax(rows)
    if result is None:
        return _along(_log_softmax_rows, _log_softmax_columns, dim, input)
    return result if rows is input else result.reshape(input.shape)


def _log_softmax_rows(out: Any, rows: Any) -> None:
    sums, shift = _exponentials(out, rows, _LOG_LIMIT)
    np.log(sums, sums)
    np.subtract(rows if shift is None else np.subtract(rows, shift, out), sums, out)


def _log_softmax_columns(out: Any, columns: Any) -> None:
    sums, shift = _exponentials_of_columns(out, columns, _LOG_LIMIT)
    np.log(sums, sums)
    np.subtract(columns if shift is None else np.subtract(columns, shift, out), sums, out)


@kernel
def softmax_backward(g: Any, out: Any, dim: int) -> Any:
    def compute(result: Any, grad: Any, probabilities: Any) -> None:
        np.subtract(grad, np.vecdot(grad, probabilities)[:, None], result)
        result *= probabilities

    def compute_columns(result: Any, grad: Any, probabilities: Any) -> None:
        np.multiply(grad, probabilities, result)
        np.subtract(result, probabilities * np.add.reduce(result, 1, keepdims=True), result)

    return _along(compute, compute_columns, dim, g, out)


@kernel
def log_softmax_backward(g: Any, out: Any, dim: int) -> Any:
    def compute(result: Any, grad: Any, log_probabilities: Any) -> None:
        np.exp(log_probabilities, result)
        result *= row_sums(grad)
        np.subtract(grad, result, result)

    def compute_columns(result: Any, grad: Any, log_probabilities: Any) -> None:
        np.exp(log_probabilities, result)
        result *= np.add.reduce(grad, 1, keepdims=True)
        np.subtract(grad, result, result)

    return _along(compute, compute_columns, dim, g, out)


@kernel
def log_sum_exp(input: Any, dim: int) -> Any:
    """Return two entries along `dim`: the subtracted maximum (0 if none), and the logarithm of the sum of exponentials."""
    if (
        input.ndim == 2
        and (rows := small_rows.as_rows(input, dim)) is not None
        and (result := small_rows.log_sums(rows)) is not None
    ):
        return result.T
    rows = _as_rows(input, dim)
    result = np.zeros((2, len(rows)), input.dtype)
    if not rows.size:
        result[1] = -np.inf
    elif rows.size <= CHUNK:
        _log_sums(result, rows)
    else:
        map_chunks(lambda chunk: _log_sums(result[:, chunk], rows[chunk]), *rows.shape)
    if input.ndim == 2:
        return result.T if dim in (1, -1) else result
    along = dim % input.ndim
    return np.moveaxis(result.reshape(2, *input.shape[:along], *input.shape[along + 1 :]), 0, along)


def _log_sums(out: Any, rows: Any) -> None:
    sums, shift = _exponentials(np.empty(rows.shape, rows.dtype), rows, _LOG_LIMIT)
    np.log(sums[:, 0], out[1])
    if shift is not None:
        out[0] = shift[:, 0]


# --- losses of class indices --------------------------------------------------------------------------------------


def _classes(target: Any, count: int, weight: Any, dtype: Any, ignore_index: int) -> tuple[Any, Any]:
    """Return flat class indices, with 0 for ignored targets, and the weight of each target (None if all weights are 1)."""
    flat = target.reshape(-1)
    if weight is None and flat.size and not 0 <= ignore_index < count:
        seen = flat.view(np.uint64)  # as unsigned integers, negative numbers are larger than any class
        if seen.item(seen.argmax()) < count:
            return flat, None
    ignored = flat == ignore_index
    some = bool(ignored.any())
    classes = np.where(ignored, 0, flat) if some else flat
    if classes.size and (classes.min() < 0 or classes.max() >= count):
        raise IndexError(f"Target {int(classes[(classes < 0) | (classes >= count)][0])} is out of bounds.")
    if weight is None:
        return classes, (~ignored).astype(dtype) if some else None
    weights = weight[classes].astype(dtype, copy=False)
    return classes, np.where(ignored, dtype.type(0), weights) if some else weights


def _places(shape: Any, classes: Any) -> Any:
    """Return flat indices of each target's class score in a contiguous input of shape `(N, C, *)`."""
    if len(shape) == 2:
        return classes + (_few_starts if len(classes) < CHUNK else _starts)(*shape, 1)
    positions = prod(shape[2:])
    return classes * positions + _starts(shape[0], shape[1], positions)


def _starts(samples: int, classes: int, positions: int) -> Any:
    """Return flat indices of the scores of class 0 for each sample and position."""
    starts = np.arange(samples) * (classes * positions)
    return starts if positions == 1 else (starts[:, None] + np.arange(positions)).reshape(-1)


_few_starts = lru_cache(32)(_starts)


def _reduced(losses: Any, weights: Any, target: Any, reduction: str) -> Any:
    if weights is not None:
        losses = np.where(weights == 0, losses.dtype.type(0), losses * weights)
    if reduction == "none":
        return losses.reshape(target.shape)
    total = np.add.reduce(losses)
    if reduction == "sum":
        return total
    if weights is None and losses.size:
        return total / losses.size
    return _quotient(total, losses.dtype.type(losses.size if weights is None else weights.sum()))


_quotient = without_warnings(np.true_divide)


@kernel
def nll_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100) -> Any:
    classes, weights = _classes(target, input.shape[1], weight, input.dtype, ignore_index)
    return _reduced(-input.take(_places(input.shape, classes)), weights, target, reduction)


@kernel
def cross_entropy(
    input: Any, log_sum: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    classes, weights = _classes(target, input.shape[1], weight, input.dtype, ignore_index)
    shift, log_of_sum = log_sum[:, 0], log_sum[:, 1]
    if log_sum.ndim > 2:
        shift, log_of_sum = shift.reshape(-1), log_of_sum.reshape(-1)
    losses = np.subtract(shift, input.take(_places(input.shape, classes)))
    np.add(losses, log_of_sum, losses)
    return _reduced(losses, weights, target, reduction)


def _sample_gradients(g: Any, target: Any, weights: Any, reduction: str, ignore_index: int) -> Any:
    """Return the gradient of each sample's loss."""
    if reduction == "none":
        g = g.reshape(-1)
    elif reduction == "mean":
        count = target.size if weights is None else weights.sum()
        if not count:
            return np.where(target.reshape(-1) == ignore_index, 0, np.nan).astype(g.dtype)
        g = np.asarray(g.item() / count, g.dtype)
    return g if weights is None else g * weights


@kernel
def nll_loss_backward(
    input: Any, target: Any, weight: Any = None, shape: Any = (), reduction: str = "mean", ignore_index: int = -100
) -> Any:
    grad_input = np.zeros(shape, input.dtype)
    classes, weights = _classes(target, shape[1], weight, input.dtype, ignore_index)
    sample_grads = _sample_gradients(input, target, weights, reduction, ignore_index)
    grad_input.reshape(-1)[_places(shape, classes)] = -sample_grads
    return grad_input


@kernel
def cross_entropy_backward(g: Any, input: Any, log_sum: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    """Compute `(probabilities - one_hot(target)) * gradient of each sample's loss`."""
    classes, weights = _classes(target, input.shape[1], weight, input.dtype, ignore_index)
    sample_grads = _sample_gradients(g, target, weights, reduction, ignore_index)
    factor = sample_grads.reshape(log_sum[:, :1].shape) if sample_grads.ndim else sample_grads
    grad_input = np.empty(input.shape, input.dtype)
    if grad_input.size <= CHUNK:
        _probabilities(grad_input, input, log_sum, factor)
    else:

        def compute(chunk: slice) -> None:
            _probabilities(grad_input[chunk], input[chunk], log_sum[chunk], factor[chunk] if sample_grads.ndim else factor)

        map_chunks(compute, len(grad_input), prod(grad_input.shape[1:]))
    flat = grad_input.reshape(-1)
    flat[_places(input.shape, classes)] -= sample_grads
    return grad_input


def _probabilities(out: Any, input: Any, log_sum: Any, factor: Any) -> None:
    shift, log_of_sum = log_sum[:, :1], log_sum[:, 1:]
    if np.count_nonzero(shift):
        input = np.subtract(input, shift, out)
    np.subtract(input, log_of_sum, out)
    np.exp(out, out)
    np.multiply(out, factor, out)
