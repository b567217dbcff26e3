"""Rows of few elements, by products with matrices that stay the same.

On a handful of numbers a reduction along a dimension, or a ufunc that broadcasts a row or a column, takes three times as long as
a product of two small matrices, or a ufunc of two arrays of one shape. So sums of rows are products with a matrix of ones, which
leaves each sum beside every element of its row; means are subtracted by a product, too; and what would be broadcast is
multiplied by a column of ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .constants import number, ones

__all__ = ["are_few", "log_softmax", "log_sums", "means", "normalize", "rows_of", "softmax", "variances"]

_ELEMENTS, _LENGTH = 512, 32  # up to which this is faster
_SAFE, _EXACT = 40.0**2, 24.0**2  # sums of squares, which no number's square exceeds: see kernels_softmax.py


def are_few(size: int, length: int) -> bool:
    """Whether arrays of this size, with rows of this length, are computed here."""
    return 0 < size <= _ELEMENTS and length <= _LENGTH


def rows_of(array: Any, dim: int) -> Any:
    """The array as a matrix whose rows run along `dim`; None unless that is the last dimension, and the elements few."""
    shape = array.shape
    if (dim != -1 and dim != len(shape) - 1) or not shape or shape[-1] > _LENGTH or not 0 < array.size <= _ELEMENTS:
        return None
    return array if len(shape) == 2 else array.reshape(-1, shape[-1])


# --- matrices -----------------------------------------------------------------------------------------------------

_square_of_ones = lru_cache(64)(lambda length, dtype: np.ones((length, length), dtype))
_row_of_ones = lru_cache(64)(lambda length, dtype: np.ones((1, length), dtype))
_averaging = lru_cache(64)(lambda length, dtype: np.full((length, 1), 1 / length, dtype))
_centring = lru_cache(64)(lambda length: np.eye(length) - 1 / length)  # subtracts the mean from each element of a row
# The same times the length: of singles, these sums of whole multiples are exact, so that equal elements deviate by 0.
_deviating = lru_cache(64)(lambda length: length * np.eye(length) - 1)
_dividing = lru_cache(64)(lambda length, divisor: np.full(length, 1 / (divisor * length**2) if divisor > 0 else np.nan))


# --- exponentials -------------------------------------------------------------------------------------------------


def _squares(rows: Any) -> Any:
    """The sum of all squares."""
    flat = rows.ravel()
    return flat.dot(flat)  # `vdot` has more overhead


def softmax(rows: Any) -> Any:
    """None where exponentials might overflow."""
    if not _squares(rows) < _SAFE:
        return None
    powers = np.exp(rows)
    sums = powers.dot(_square_of_ones(rows.shape[1], rows.dtype))
    return np.divide(powers, sums, sums)


def log_softmax(rows: Any) -> Any:
    """None where a sum of exponentials might have lost too many digits for its logarithm."""
    if not _squares(rows) < _EXACT:
        return None
    sums = np.exp(rows).dot(_square_of_ones(rows.shape[1], rows.dtype))
    return np.subtract(rows, np.log(sums, sums), sums)


def log_sums(rows: Any) -> Any:
    """Zeros and, below each, the logarithm of the sum of a row's exponentials; None as above."""
    if not _squares(rows) < _EXACT:
        return None
    result = np.zeros((2, len(rows)), rows.dtype)
    np.log(np.exp(rows).dot(ones(rows.shape[1], rows.dtype)), result[1])
    return result


# --- moments ------------------------------------------------------------------------------------------------------


def variances(rows: Any, divisor: float) -> Any:
    """The sum of squared deviations from the mean, over `divisor`, of each row; in double precision."""
    deviations = rows.dot(_deviating(rows.shape[1]))
    return np.multiply(deviations, deviations, deviations).dot(_dividing(rows.shape[1], divisor))


def means(rows: Any) -> Any:
    """The mean of each row, as a column."""
    return rows.dot(_averaging(rows.shape[1], rows.dtype))


def normalize(rows: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any]:
    """Rows with a mean of 0 and a variance of 1, times `weight`, plus `bias`; and what their deviations were multiplied by."""
    length, dtype = rows.shape[1], rows.dtype
    centred = rows.dot(_centring(length)).astype(dtype)
    scale = means(np.multiply(centred, centred))
    np.add(scale, number(eps, dtype), scale)
    np.sqrt(scale, scale)
    np.reciprocal(scale, scale)
    factor = scale.dot(_row_of_ones(length, dtype) if weight is None else weight.reshape(1, length))
    result = np.multiply(centred, factor, factor)
    if bias is not None:
        np.add(result, bias.reshape(length), result)
    return result, scale
