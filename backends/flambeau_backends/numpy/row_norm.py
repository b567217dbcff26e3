"""Normalization of rows, with a weight and a bias for each of their elements: what `layer_norm` is.

It takes NumPy twice as long to multiply a matrix by a number for each row, or for each column, as by another matrix, and BLAS
next to no time to make a matrix of rank two.  So what is computed is

    x_ij * (scale_i * weight_j) + (bias_j - mean_i * scale_i * weight_j)

and its gradient likewise.  Where a mean is so far from zero that digits would cancel, it is subtracted first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .pieces import PIECE, pieces
from .sums import ones

__all__ = ["normalize", "normalize_backward"]

_FAR = 2.0  # standard deviations
_SMALL = 1 << 12  # elements


class _RankTwo:
    """Matrices `a_i * right_j + b_i * other_right_j`, one after the other in the same memory."""

    def __init__(self, rows: int, right: Any, other_right: Any) -> None:
        self.left, self.right = np.empty((rows, 2), right.dtype), np.stack((right, other_right))
        self.made = np.empty((rows, len(right)), right.dtype)

    def __call__(self, a: Any, b: Any) -> Any:
        count = len(a)
        left = self.left[:count]
        left[:, 0], left[:, 1] = a, b
        return np.matmul(left, self.right, self.made[:count])


def _as_rows(array: Any, length: int) -> Any:
    return np.ascontiguousarray(array).reshape(-1, length)


def _rows_at_a_time(rows: Any) -> int:
    return max(1, min(len(rows), PIECE // rows.shape[1]))


def _centred(part: Any, mean: Any) -> tuple[Any, Any]:
    """The rows without their means, and their means then."""
    return part - mean[:, None], np.zeros_like(mean)


def _measure(part: Any, mean: Any, scale: Any, average: Any, eps: float) -> tuple[Any, Any]:
    """Fill in the mean of each row, and the scale that gives it variance 1; the rows, maybe without their means, and theirs."""
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


def normalize(input: Any, weight: Any, bias: Any, length: int, eps: float) -> tuple[Any, Any]:
    """The normalized rows of `length`, and the means and scales, for the backward."""
    rows, dtype = _as_rows(input, length), input.dtype
    made, moments = np.empty(input.shape, dtype), np.empty((2, len(rows)), dtype)
    outs, step = made.reshape(rows.shape), _rows_at_a_time(rows)
    if rows.size <= _SMALL:
        _normalize_few(rows, weight, bias, eps, outs, *moments)
        return made, moments
    zeros, average = np.zeros(length, dtype), np.full(length, 1 / length, dtype)
    weight = np.ones(length, dtype) if weight is None else weight.reshape(length)
    scaled, shifted = _RankTwo(step, weight, zeros), _RankTwo(step, weight, zeros if bias is None else bias.reshape(length))
    for piece in pieces(*rows.shape):
        out, (mean, scale) = outs[piece], moments[:, piece]
        part, mean = _measure(rows[piece], mean, scale, average, eps)
        np.multiply(part, scaled(scale, 0), out)
        np.add(out, shifted(-mean * scale, 1), out)
    return made, moments


def _normalize_few(rows: Any, weight: Any, bias: Any, eps: float, out: Any, mean: Any, scale: Any) -> None:
    """The same, term by term: for few elements it is the number of calls that counts."""
    length = rows.shape[1]
    rows.dot(ones(length, rows.dtype), mean)
    np.divide(mean, length, mean)
    np.subtract(rows, mean[:, None], out)
    np.vecdot(out, out, scale)
    np.divide(scale, length, scale)
    np.add(scale, eps, scale)
    np.sqrt(scale, scale)
    np.reciprocal(scale, scale)
    np.multiply(out, scale[:, None], out)
    if weight is not None:
        np.multiply(out, weight.reshape(length), out)
    if bias is not None:
        np.add(out, bias.reshape(length), out)


def normalize_backward(g: Any, input: Any, weight: Any, bias: Any, length: int, eps: float, moments: Any) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias.

    With `t = g * weight` and a normalized row `s`, that of the row is `scale * (t - mean(t) - s * mean(t * s))`.
    """
    if moments is None:
        moments = normalize(input, None, None, length, eps)[1]
    rows, slopes, dtype = _as_rows(input, length), _as_rows(g, length), input.dtype
    made, d_weight, d_bias = np.empty(input.shape, dtype), np.zeros(length, dtype), np.zeros(length, dtype)
    outs, step = made.reshape(rows.shape), _rows_at_a_time(rows)
    factor = np.ones(length, dtype) if weight is None else weight.reshape(length)
    scaled = _RankTwo(step, factor, np.zeros(length, dtype))
    scratch, lefts = np.empty((step, length), dtype), np.ones((2, step), dtype)
    for piece in pieces(*rows.shape):
        part, slope, out, (mean, scale) = rows[piece], slopes[piece], outs[piece], moments[:, piece]
        if not (np.abs(mean) * scale <= _FAR).all():
            part, mean = _centred(part, mean)
        product = np.multiply(slope, part, scratch[: len(part)])
        along, tilt = slope.dot(factor), product.dot(factor)
        tilt -= mean * along
        tilt *= scale * scale * scale / length
        left = lefts[:, : len(part)]
        np.multiply(mean, scale, left[1])
        sums = left.dot(slope)
        d_bias += sums[0]
        d_weight += scale.dot(product)
        d_weight -= sums[1]
        np.multiply(part, tilt[:, None], out)
        np.add(out, (along * scale / length - mean * tilt)[:, None], out)
        np.subtract(np.multiply(slope, scaled(scale, 0), product), out, out)
    return (
        made,
        None if weight is None else d_weight.reshape(weight.shape),
        None if bias is None else d_bias.reshape(bias.shape),
    )
