"""Normalization of rows with one weight and bias per column, as in `layer_norm`.

NumPy takes twice as long to broadcast a row or column against a matrix as to multiply two matrices element by element, while BLAS
computes a matrix of rank two in almost no time.  So the result is computed as

    x_ij * (scale_i * weight_j) + (bias_j - mean_i * scale_i * weight_j)

where both terms in parentheses are matrices of rank at most two.  The gradient is computed in the same way.  If a mean is so far
from zero that digits would cancel, it is subtracted first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import small_rows
from .chunks import map_chunks
from .constants import number, ones
from .sums import products_of_rows, row_sums, weighted_column_sums

__all__ = ["LONG", "are_near", "normalize", "normalize_backward", "normalize_channels"]

_FAR = 2.0  # maximum distance of a mean from zero, in standard deviations
LONG = 1 << 14  # row length from which the rounding errors of one product would exceed the precision of float32
_SMALL = 1 << 12  # number of elements up to which `_normalize_few` is faster


def _as_rows(array: Any, length: int) -> Any:
    rows = np.ascontiguousarray(array)
    return rows if rows.ndim == 2 and rows.shape[1] == length else rows.reshape(-1, length)


def _rank_two(a: Any, b: Any, rights: Any, out: Any = None) -> Any:
    """Compute the matrix `a_i * rights_0j + b_i * rights_1j`, of rank two."""
    lefts = np.empty((len(a), 2), rights.dtype)
    lefts[:, 0], lefts[:, 1] = a, b
    return lefts.dot(rights) if out is None else lefts.dot(rights, out)


def are_near(squares: Any, variances: Any) -> bool:
    """Whether the means, given their squares, are within `_FAR` standard deviations of zero, so that no digits cancel."""
    return bool((squares <= variances * _FAR**2).all())


def _centred(part: Any, mean: Any) -> tuple[Any, Any]:
    """Return the rows minus their means, and the new means, which are zero."""
    return part - mean[:, None], np.zeros_like(mean)


def _mean_squares(part: Any, average: Any, out: Any) -> None:
    """Write the mean of the squares of each row to `out`."""
    if len(average) > LONG:
        np.copyto(out, products_of_rows(part, part))
    else:
        np.vecdot(part, part, out)
    np.multiply(out, average[0], out)


def _measure(part: Any, mean: Any, scale: Any, average: Any, eps: float) -> tuple[Any, Any]:
    """Fill `mean` and `scale` (the inverse standard deviation) of each row; return the rows and the means to subtract.

    If any mean is far from zero, the returned rows are already centred, and the returned means are zero.
    """
    if len(average) > LONG:
        np.copyto(mean, row_sums(part) * average[0])
    else:
        part.dot(average, mean)
    square = np.square(mean)
    _mean_squares(part, average, scale)
    np.subtract(scale, square, scale)
    if not are_near(square, scale):
        part, mean = _centred(part, mean)
        _mean_squares(part, average, scale)
    np.add(scale, number(eps, scale.dtype), scale)
    np.divide(np.sqrt(scale), scale, scale)  # NaN, not 0, if the variance overflows
    return part, mean


def normalize(input: Any, weight: Any, bias: Any, length: int, eps: float, saving: bool = True) -> tuple[Any, Any]:
    """Normalize rows of `length` elements; if `saving`, also return their means and scales for the backward."""
    rows, dtype = _as_rows(input, length), input.dtype
    if small_rows.are_small(rows.size, length):
        normalized, scale = small_rows.normalize(rows, weight, bias, eps)
        moments = np.concatenate((small_rows.means(rows), scale), 1).T if saving else None
        return normalized if rows is input else normalized.reshape(input.shape), moments
    output, moments = np.empty(input.shape, dtype), np.empty((2, len(rows)), dtype)
    output_rows = output.reshape(rows.shape)
    if rows.size <= _SMALL:
        _normalize_few(rows, weight, bias, eps, output_rows, *moments)
        return output, moments
    average, zeros = np.full(length, 1 / length, dtype), np.zeros(length, dtype)
    weight = np.ones(length, dtype) if weight is None else weight.reshape(length)
    factor, offset = np.stack((weight, zeros)), np.stack((-weight, zeros if bias is None else bias.reshape(length)))

    def compute(chunk: slice) -> None:
        out, (mean, scale) = output_rows[chunk], moments[:, chunk]
        part, mean = _measure(rows[chunk], mean, scale, average, eps)
        product = _rank_two(scale, 0, factor)
        np.multiply(part, product, out)
        np.add(out, _rank_two(mean * scale, 1, offset, product), out)

    map_chunks(compute, *rows.shape)
    return output, moments


def _normalize_few(rows: Any, weight: Any, bias: Any, eps: float, out: Any, mean: Any, scale: Any) -> None:
    """Like `normalize`, but with fewer calls, whose overhead dominates for few elements."""
    length, dtype = rows.shape[1], rows.dtype
    count = number(length, dtype)
    rows.dot(ones(length, dtype), mean)
    np.divide(mean, count, mean)
    np.subtract(rows, mean[:, None], out)
    np.vecdot(out, out, scale)
    np.divide(scale, count, scale)
    np.add(scale, number(eps, dtype), scale)
    np.divide(np.sqrt(scale), scale, scale)  # NaN, not 0, if the variance overflows
    np.multiply(out, scale[:, None], out)
    if weight is not None:
        np.multiply(out, weight.reshape(length), out)
    if bias is not None:
        np.add(out, bias.reshape(length), out)


def normalize_channels(input: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any]:
    """Normalize an array `(sample, row, channel, position)`; also return means and scales for each sample and row.

    Weight and bias, `(row, channel, 1)`, have one number per channel.  Channels have enough positions that broadcasting these
    numbers is as fast as multiplying arrays of equal shape.
    """
    samples, rows, channels, positions = input.shape
    length, dtype = channels * positions, input.dtype
    output, moments = np.empty(input.shape, dtype), np.empty((2, samples, rows), dtype)
    average = np.full(length, 1 / length, dtype)

    def compute(chunk: slice) -> None:
        out, mean, scale = output[chunk], moments[0, chunk].reshape(-1), moments[1, chunk].reshape(-1)
        part, mean = _measure(input[chunk].reshape(-1, length), mean, scale, average, eps)
        factor = scale.reshape(-1, rows, 1, 1) if weight is None else scale.reshape(-1, rows, 1, 1) * weight
        shift = mean.reshape(-1, rows, 1, 1) * factor
        np.multiply(part.reshape(out.shape), factor, out)
        np.add(out, -shift if bias is None else bias - shift, out)

    map_chunks(compute, samples, rows * length)
    return output, moments


def normalize_backward(g: Any, input: Any, weight: Any, bias: Any, length: int, eps: float, moments: Any) -> tuple[Any, Any, Any]:
    """Return the gradients of input, weight and bias.

    With `t = g * weight` and a normalized row `s`, the gradient of the row is `scale * (t - mean(t) - s * mean(t * s))`.
    """
    if moments is None:
        moments = normalize(input, None, None, length, eps)[1]
    rows, grads, dtype = _as_rows(input, length), _as_rows(g, length), input.dtype
    grad_input = np.empty(input.shape, dtype)
    grad_rows, factor = grad_input.reshape(rows.shape), np.ones(length, dtype) if weight is None else weight.reshape(length)
    factors = np.stack((factor, np.zeros(length, dtype)))

    def compute(chunk: slice) -> tuple[Any, Any]:
        """Write the gradient of some rows; return their contributions to the gradients of weight and bias."""
        part, grad, out, (mean, scale) = rows[chunk], grads[chunk], grad_rows[chunk], moments[:, chunk]
        if not are_near(np.square(mean * scale), 1):
            part, mean = _centred(part, mean)
        product = np.multiply(grad, part)
        projection, tilt = grad.dot(factor), product.dot(factor)
        tilt -= mean * projection
        tilt *= scale * scale * scale * number(1 / length, dtype)
        projection *= scale * number(1 / length, dtype)
        projection -= mean * tilt
        d_bias, shifted = weighted_column_sums(np.stack((np.ones_like(mean), mean * scale)), grad)
        d_weight = weighted_column_sums(scale, product) - shifted
        np.multiply(part, tilt[:, None], out)
        np.add(out, projection[:, None], out)
        np.multiply(grad, _rank_two(scale, 0, factors, product), product)
        np.subtract(product, out, out)
        return d_weight, d_bias

    d_weight, d_bias = (sum(parts) for parts in zip(*map_chunks(compute, *rows.shape), strict=True))
    return (
        grad_input,
        None if weight is None else d_weight.reshape(weight.shape),
        None if bias is None else d_bias.reshape(bias.shape),
    )
