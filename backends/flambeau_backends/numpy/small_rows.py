"""Fast paths for small arrays: softmax, moments and normalization of rows by products with cached matrices.

For few numbers, a reduction along a dimension, or a ufunc that broadcasts a row or column, takes three times as long as a product
of two small matrices or a ufunc of two arrays of equal shape.  So row sums are products with a matrix of ones, which repeats the
sum for every element of the row; means are also subtracted by a product; and a column is broadcast by multiplying it with a row
of ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .constants import number, ones

__all__ = ["are_small", "as_rows", "log_softmax", "log_sums", "means", "normalize", "softmax", "variances"]

_ELEMENTS, _LENGTH = 512, 32  # maximum number of elements and row length for which the fast paths are used
_EXP_LIMIT, _LOG_LIMIT = (
    40.0**2,
    24.0**2,
)  # limits on the sum of squares, which bounds each element's square: see kernels_softmax.py


def are_small(size: int, length: int) -> bool:
    """Whether arrays with this number of elements and row length are small enough for the fast paths."""
    return 0 < size <= _ELEMENTS and 1 < length <= _LENGTH  # for length 1, BLAS skips the centring matrix, 0, and loses NaN


def as_rows(array: Any, dim: int) -> Any:
    """Return a small array as a matrix with rows along `dim`; None if it is not small or `dim` is not the last dimension."""
    shape = array.shape
    if (dim != -1 and dim != len(shape) - 1) or not shape or shape[-1] > _LENGTH or not 0 < array.size <= _ELEMENTS:
        return None
    return array if len(shape) == 2 else array.reshape(-1, shape[-1])


# --- matrices -----------------------------------------------------------------------------------------------------

_square_of_ones = lru_cache(64)(lambda length, dtype: np.ones((length, length), dtype))
_row_of_ones = lru_cache(64)(lambda length, dtype: np.ones((1, length), dtype))
_averaging = lru_cache(64)(lambda length, dtype: np.full((length, 1), 1 / length, dtype))
_centring = lru_cache(64)(lambda length: np.eye(length) - 1 / length)  # `row @ matrix` subtracts the row's mean
# `length` times the centring matrix: sums of integer multiples of float32 are exact, so equal elements have deviations of 0.
_deviating = lru_cache(64)(lambda length: length * np.eye(length) - 1)
_dividing = lru_cache(64)(lambda length, divisor: np.full(length, 1 / (divisor * length**2) if divisor > 0 else np.nan))


# --- exponentials -------------------------------------------------------------------------------------------------


def _squares(rows: Any) -> Any:
    """Return the sum of the squares of all elements."""
    flat = rows.ravel()
    return flat.dot(flat)  # less overhead than `vdot`


def softmax(rows: Any) -> Any:
    """Compute the softmax of rows; return None if exponentials might overflow."""
    if not _squares(rows) < _EXP_LIMIT:
        return None
    powers = np.exp(rows)
    sums = powers.dot(_square_of_ones(rows.shape[1], rows.dtype))
    return np.divide(powers, sums, sums)


def log_softmax(rows: Any) -> Any:
    """Compute the log-softmax of rows; return None if the sum of exponentials might be too imprecise."""
    if not _squares(rows) < _LOG_LIMIT:
        return None
    sums = np.exp(rows).dot(_square_of_ones(rows.shape[1], rows.dtype))
    return np.subtract(rows, np.log(sums, sums), sums)


def log_sums(rows: Any) -> Any:
    """Return `(2, rows)`: zeros (no shift subtracted), and each row's log-sum-exp; None if that might be too imprecise."""
    if not _squares(rows) < _LOG_LIMIT:
        return None
    result = np.zeros((2, len(rows)), rows.dtype)
    np.log(np.exp(rows).dot(ones(rows.shape[1], rows.dtype)), result[1])
    return result


# --- moments ------------------------------------------------------------------------------------------------------


def variances(rows: Any, divisor: float) -> Any:
    """Compute the sum of squared deviations of each row divided by `divisor`, in float64."""
    deviations = rows.dot(_deviating(rows.shape[1]))
    result = np.multiply(deviations, deviations, deviations).dot(_dividing(rows.shape[1], divisor))
    result += 0.0 * result  # NaN instead of infinity: the mean of the row is infinite, and infinity minus infinity is NaN
    return result


def means(rows: Any) -> Any:
    """Return the mean of each row, as a column."""
    return rows.dot(_averaging(rows.shape[1], rows.dtype))


def normalize(rows: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any]:
    """Compute `(x - mean) / sqrt(var + eps) * weight + bias` for each row, and return the inverse standard deviations as well."""
    length, dtype = rows.shape[1], rows.dtype
    centred = rows.dot(_centring(length)).astype(dtype)
    scale = means(np.multiply(centred, centred))
    np.add(scale, number(eps, dtype), scale)
    np.divide(np.sqrt(scale), scale, scale)  # NaN, not 0, if the variance overflows
    factor = scale.dot(_row_of_ones(length, dtype) if weight is None else weight.reshape(1, length))
    result = np.multiply(centred, factor, factor)
    if bias is not None:
        np.add(result, bias.reshape(length), result)
    return result, scale
