"""Softmax, its logarithm, and the losses of classes."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, prod
from typing import Any

import numpy as np

from .kernels import kernel
from .pieces import PIECE, pieces, wide
from .quiet import quiet
from .sums import ones

_SAFE = 46.0  # what exp() of, or of its negative, may be summed without overflow, and with little lost to underflow
_EXACT = 24.0  # up to where a logarithm of such a sum is as exact as the small loss that it is a part of


# --- exponentials and their sums ----------------------------------------------------------------------------------


def _last(input: Any, dim: int) -> Any:
    """The array with `dim` last, contiguous, as a matrix."""
    if input.ndim == 2 and dim in (1, -1):
        return np.ascontiguousarray(input)
    moved = input if dim % max(input.ndim, 1) == input.ndim - 1 else np.moveaxis(input, dim, -1)
    return np.ascontiguousarray(moved).reshape(-1, moved.shape[-1])


def _back(rows: Any, like: Any, dim: int) -> Any:
    """The matrix in the shape of `like` again."""
    if dim % max(like.ndim, 1) == like.ndim - 1:
        return rows.reshape(like.shape)
    moved = np.moveaxis(like, dim, -1).shape
    return np.ascontiguousarray(np.moveaxis(rows.reshape(moved), -1, dim))


def _row_sums(rows: Any) -> Any:
    return rows.dot(ones(rows.shape[1], rows.dtype))[:, None]


def _exponentials(out: Any, rows: Any, limit: float) -> tuple[Any, Any]:
    """Fill `out` with exponentials; return their sums, and what was subtracted before, if anything.

    The largest of each row has to be subtracted only where numbers are beyond `limit`: finding it takes longest.
    """
    if -limit < rows.item(rows.argmax()) < limit:
        np.exp(rows, out)
        sums = _row_sums(out)
        if sums.item(sums.argmin()) > exp(-limit):
            return sums, None
    return _shifted_exponentials(out, rows)


@quiet
def _shifted_exponentials(out: Any, rows: Any) -> tuple[Any, Any]:
    shift = rows.max(1, keepdims=True)
    np.subtract(rows, shift, out)
    np.exp(out, out)
    return _row_sums(out), shift


def _by_rows(compute: Callable[..., None], dim: int, *arrays: Any) -> Any:
    """The array that `compute(out, *pieces)` fills, row by row along `dim`."""
    first = arrays[0]
    shape = first.shape
    if not first.size:
        return np.empty(shape, first.dtype)
    if first.size <= PIECE and dim % len(shape) == len(shape) - 1:
        made = np.empty(shape, first.dtype)
        compute(*[each.reshape(-1, shape[-1]) for each in (made, *arrays)])
        return made
    matrices = [_last(each, dim) for each in arrays]
    made = np.empty(matrices[0].shape, first.dtype)
    _compute_pieces(compute, made, *matrices)
    return _back(made, first, dim)


@quiet
def _compute_pieces(compute: Callable[..., None], made: Any, *matrices: Any) -> None:
    for piece in pieces(*made.shape):
        compute(made[piece], *(each[piece] for each in matrices))


# --- softmax ------------------------------------------------------------------------------------------------------


@kernel
def softmax(input: Any, dim: int) -> Any:
    def compute(out: Any, rows: Any) -> None:
        sums, _ = _exponentials(out, rows, _SAFE)
        np.multiply(out, np.reciprocal(sums, sums), out)

    return _by_rows(compute, dim, input)


@kernel
def log_softmax(input: Any, dim: int) -> Any:
    def compute(out: Any, rows: Any) -> None:
        sums, shift = _exponentials(out, rows, _EXACT)
        np.log(sums, sums)
        np.subtract(rows if shift is None else np.subtract(rows, shift, out), sums, out)

    return _by_rows(compute, dim, input)


@kernel
@wide
def softmax_backward(g: Any, out: Any, dim: int) -> Any:
    def compute(made: Any, slope: Any, shares: Any) -> None:
        np.subtract(slope, np.vecdot(slope, shares)[:, None], made)
        made *= shares

    return _by_rows(compute, dim, g, out)


@kernel
@wide
def log_softmax_backward(g: Any, out: Any, dim: int) -> Any:
    def compute(made: Any, slope: Any, logs: Any) -> None:
        np.exp(logs, made)
        made *= _row_sums(slope)
        np.subtract(slope, made, made)

    return _by_rows(compute, dim, g, out)


@kernel
def log_sum_exp(input: Any, dim: int) -> Any:
    """In two parts along `dim`: what was subtracted, which is 0 where nothing had to be, and the logarithm of the sum."""
    rows = _last(input, dim)
    made = np.zeros((2, len(rows)), input.dtype)
    if not rows.size:
        made[1] = -np.inf
    elif rows.size <= PIECE:
        _log_sums(made, rows)
    else:
        for piece in pieces(*rows.shape):
            _log_sums(made[:, piece], rows[piece])
    if input.ndim == 2:
        return made.T if dim in (1, -1) else made
    along = dim % input.ndim
    return np.moveaxis(made.reshape(2, *input.shape[:along], *input.shape[along + 1 :]), 0, along)


def _log_sums(out: Any, rows: Any) -> None:
    sums, shift = _exponentials(np.empty(rows.shape, rows.dtype), rows, _EXACT)
    np.log(sums[:, 0], out[1])
    if shift is not None:
        out[0] = shift[:, 0]


# --- attention ----------------------------------------------------------------------------------------------------


@kernel
@quiet
def attention(query: Any, key: Any, value: Any, scale: float) -> Any:
    """`softmax(query @ key.T * scale) @ value`, where it is the result that is divided by the sums of the exponentials."""
    turned = np.ascontiguousarray(key.swapaxes(-1, -2))  # small products with it take two thirds of the time
    query = query * query.dtype.type(scale)
    scores = np.matmul(query, turned)
    if not scores.size:
        return np.matmul(scores, value)
    rows = scores.reshape(-1, scores.shape[-1])
    np.exp(rows, rows)
    sums = _row_sums(rows)
    if not exp(-_SAFE) < sums.item(sums.argmin()) <= sums.item(sums.argmax()) < exp(_SAFE):  # once more, with care
        np.matmul(query, turned, scores)
        np.subtract(rows, rows.max(1, keepdims=True), rows)
        np.exp(rows, rows)
        sums = _row_sums(rows)
    made = np.matmul(scores, value)
    np.reciprocal(sums, sums)
    if made.shape[:-1] != scores.shape[:-1]:  # values for more batches
        return made * sums.reshape(*scores.shape[:-1], 1)
    columns = made.reshape(-1, made.shape[-1])
    np.multiply(columns, sums.dot(ones(made.shape[-1], made.dtype)[None]), columns)
    return made


# --- classes ------------------------------------------------------------------------------------------------------


def _classes(target: Any, count: int, weight: Any, dtype: Any, ignore_index: int) -> tuple[Any, Any]:
    """Flat target classes, 0 for those to ignore, and what each counts for (None: all the same)."""
    flat = target.reshape(-1)
    if weight is None and flat.size and not 0 <= ignore_index < count:
        seen = flat.view(np.uint64)  # where negative numbers are larger than any class
        if seen[seen.argmax()] < count:
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
    """An index, for an input of shape `(N, C)` or `(N, C, M)`, of the element of each target."""
    samples = np.arange(shape[0])
    return (samples, classes) if len(shape) == 2 else (samples.repeat(shape[2]), classes, np.tile(np.arange(shape[2]), shape[0]))


def _joined(array: Any) -> Any:
    """An array `(N, C, *)` as `(N, C)` or `(N, C, M)`."""
    shape = array.shape
    return array if len(shape) == 2 else array.reshape(*shape[:2], prod(shape[2:]))


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


_quotient = quiet(np.true_divide)


@kernel
def nll_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100) -> Any:
    joined = _joined(input)
    classes, weights = _classes(target, input.shape[1], weight, input.dtype, ignore_index)
    return _reduced(-joined[_places(joined.shape, classes)], weights, target, reduction)


@kernel
def cross_entropy(
    input: Any, log_sum: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    joined = _joined(input)
    classes, weights = _classes(target, input.shape[1], weight, input.dtype, ignore_index)
    losses = log_sum[:, 0].reshape(-1) - joined[_places(joined.shape, classes)]
    losses += log_sum[:, 1].reshape(-1)
    return _reduced(losses, weights, target, reduction)


def _sample_slopes(g: Any, target: Any, weights: Any, reduction: str, ignore_index: int) -> Any:
    """The gradient of each sample's loss."""
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
    made = np.zeros(shape, input.dtype)
    joined = _joined(made)
    classes, weights = _classes(target, shape[1], weight, input.dtype, ignore_index)
    joined[_places(joined.shape, classes)] = -_sample_slopes(input, target, weights, reduction, ignore_index)
    return made


@kernel
@wide
def cross_entropy_backward(g: Any, input: Any, log_sum: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    """Probabilities minus one at the target, scaled sample by sample."""
    classes, weights = _classes(target, input.shape[1], weight, input.dtype, ignore_index)
    slopes = _sample_slopes(g, target, weights, reduction, ignore_index)
    each = slopes.reshape(log_sum[:, :1].shape) if slopes.ndim else slopes
    made = np.empty(input.shape, input.dtype)
    if made.size <= PIECE:
        _probabilities(made, input, log_sum, each)
    else:
        for piece in pieces(len(made), prod(made.shape[1:])):
            _probabilities(made[piece], input[piece], log_sum[piece], each[piece] if slopes.ndim else each)
    joined = _joined(made)
    joined[_places(joined.shape, classes)] -= slopes
    return made


def _probabilities(out: Any, input: Any, log_sum: Any, factor: Any) -> None:
    shift, rest = log_sum[:, :1], log_sum[:, 1:]
    if np.count_nonzero(shift):
        input = np.subtract(input, shift, out)
    np.subtract(input, rest, out)
    np.exp(out, out)
    np.multiply(out, factor, out)
