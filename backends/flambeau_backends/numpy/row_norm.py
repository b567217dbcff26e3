"""Normalization of rows, with one weight and one bias for each column: the computation of `layer_norm`.

NumPy takes twice as long to broadcast a row or a column against a matrix as to multiply two matrices elementwise, and BLAS takes
next to no time to compute a matrix of rank two.  So this computes

    x_ij * (scale_i * weight_j) + (bias_j - mean_i * scale_i * weight_j)

with matrices of rank two, and the gradient likewise.  Where a mean is so far from zero that digits would cancel, it is
subtracted first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import few
from .constants import number, ones
from .pieces import PIECE, pieces

__all__ = ["normalize", "normalize_backward"]

_FAR = 2.0  # standard deviations that a mean may be away from zero
_SMALL = 1 << 12  # elements up to which `_normalize_few` is faster


class _RankTwo:
    """Computes matrices `a_i * right_j + b_i * other_right_j`; each call reuses the memory of the previous result."""

    def __init__(self, rows: int, right: Any, other_right: Any) -> None:
        self.left, self.right = np.empty((rows, 2), right.dtype), np.stack((right, other_right))
        self.product = np.empty((rows, len(right)), right.dtype)

    def __call__(self, a: Any, b: Any) -> Any:
        count = len(a)
        left = self.left[:count]
        left[:, 0], left[:, 1] = a, b
        return np.matmul(left, self.right, self.product[:count])


def _as_rows(array: Any, length: int) -> Any:
    rows = np.ascontiguousarray(array)
    return rows if rows.ndim == 2 and rows.shape[1] == length else rows.reshape(-1, length)


def _rows_at_a_time(rows: Any) -> int:
    return max(1, min(len(rows), PIECE // rows.shape[1]))


def _centred(part: Any, mean: Any) -> tuple[Any, Any]:
    """The rows with their means subtracted, and their new means, which are zero."""
    return part - mean[:, None], np.zeros_like(mean)


def _measure(part: Any, mean: Any, scale: Any, average: Any, eps: float) -> tuple[Any, Any]:
    """Fill `mean` and `scale` (the inverse standard deviation) of each row; return the rows and their means.

    Rows whose means are far from zero are returned centred, with means of zero.
    """
    part.dot(average, mean)
    near, square = mean, np.square(mean)
    np.vecdot(part, part, scale)
    np.multiply(scale, average[0], scale)
    np.subtract(scale, square, scale)
    if not (square <= scale * _FAR**2).all():
        part, near = _centred(part, mean)
        np.vecdot(part, part, scale)
        np.multiply(scale, average[0], scale)
    np.add(scale, eps, scale)
    np.sqrt(scale, scale)
    np.reciprocal(scale, scale)
    return part, near


def normalize(input: Any, weight: Any, bias: Any, length: int, eps: float, saving: bool = True) -> tuple[Any, Any]:
    """The normalized rows of `length`, and, where it is `saving` them, their means and scales for the backward."""
    rows, dtype = _as_rows(input, length), input.dtype
    if few.are_few(rows.size, length):
        normalized, scale = few.normalize(rows, weight, bias, eps)
        moments = np.concatenate((few.means(rows), scale), 1).T if saving else None
        return normalized if rows is input else normalized.reshape(input.shape), moments
    output, moments = np.empty(input.shape, dtype), np.empty((2, len(rows)), dtype)
    output_rows = output.reshape(rows.shape)
    if rows.size <= _SMALL:
        _normalize_few(rows, weight, bias, eps, output_rows, *moments)
        return output, moments
    step = _rows_at_a_time(rows)
    zeros, average = np.zeros(length, dtype), np.full(length, 1 / length, dtype)
    weight = np.ones(length, dtype) if weight is None else weight.reshape(length)
    scaled, shifted = _RankTwo(step, weight, zeros), _RankTwo(step, weight, zeros if bias is None else bias.reshape(length))
    for piece in pieces(*rows.shape):
        out, (mean, scale) = output_rows[piece], moments[:, piece]
        part, mean = _measure(rows[piece], mean, scale, average, eps)
        np.multiply(part, scaled(scale, 0), out)
        np.add(out, shifted(-mean * scale, 1), out)
    return output, moments


def _normalize_few(rows: Any, weight: Any, bias: Any, eps: float, out: Any, mean: Any, scale: Any) -> None:
    """Like `normalize`, in fewer calls, whose overhead is what counts for few elements."""
    length, dtype = rows.shape[1], rows.dtype
    count = number(length, dtype)
    rows.dot(ones(length, dtype), mean)
    np.divide(mean, count, mean)
    np.subtract(rows, mean[:, None], out)
    np.vecdot(out, out, scale)
    np.divide(scale, count, scale)
    np.add(scale, number(eps, dtype), scale)
    np.sqrt(scale, scale)
    np.reciprocal(scale, scale)
    np.multiply(out, scale[:, None], out)
    if weight is not None:
        np.multiply(out, weight.reshape(length), out)
    if bias is not None:
        np.add(out, bias.reshape(length), out)


def normalize_backward(g: Any, input: Any, weight: Any, bias: Any, length: int, eps: float, moments: Any) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias.

    With `t = g * weight` and a normalized row `s`, the gradient of the row is `scale * (t - mean(t) - s * mean(t * s))`.
    """
    if moments is None:
        moments = normalize(input, None, None, length, eps)[1]
    rows, grads, dtype = _as_rows(input, length), _as_rows(g, length), input.dtype
    grad_input, d_weight, d_bias = np.empty(input.shape, dtype), np.zeros(length, dtype), np.zeros(length, dtype)
    grad_rows, step = grad_input.reshape(rows.shape), _rows_at_a_time(rows)
    factor = np.ones(length, dtype) if weight is None else weight.reshape(length)
    scaled = _RankTwo(step, factor, np.zeros(length, dtype))
    scratch, lefts = np.empty((step, length), dtype), np.ones((2, step), dtype)
    for piece in pieces(*rows.shape):
        part, grad, out, (mean, scale) = rows[piece], grads[piece], grad_rows[piece], moments[:, piece]
        if not (np.abs(mean) * scale <= _FAR).all():
            part, mean = _centred(part, mean)
        product = np.multiply(grad, part, scratch[: len(part)])
        projection, tilt = grad.dot(factor), product.dot(factor)
        tilt -= mean * projection
        tilt *= scale * scale * scale / length
        left = lefts[:, : len(part)]
        np.multiply(mean, scale, left[1])
        sums = left.dot(grad)
        d_bias += sums[0]
        d_weight += scale.dot(product)
        d_weight -= sums[1]
        np.multiply(part, tilt[:, None], out)
        np.add(out, (projection * scale / length - mean * tilt)[:, None], out)
        np.subtract(np.multiply(grad, scaled(scale, 0), product), out, out)
    return (
        grad_input,
        None if weight is None else d_weight.reshape(weight.shape),
        None if bias is None else d_bias.reshape(bias.shape),
    )
