"""`logaddexp`, `logcumsumexp`, `softplus`, `log_sigmoid` and `logit`, and gradients of `softplus` and `log_sigmoid`."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS

from .chunks import in_chunk_pairs, in_chunks, map_chunks, select
from .constants import has_vectors, number
from .error_state import without_warnings
from .kernels import clip, kernel
from .namespace import namespace
from .polynomials import polynomial

_VECTORIZED = (np.dtype(np.float32), np.dtype(np.float64))  # dtypes with vectorized exp and log in NumPy
_SMALL_SIZE = 1 << 9  # number of elements up to which the C library is faster


# A fit for float32: log(1 + u) = z P(z^2) with z = u / (2 + u) in [0, 1 / 3], relative error at most 4e-9.
_LOGARITHM = (0.281746573, 0.279614188, 0.400248537, 0.666663159, 2.00000001)


def _log1p_exp(distance: Any) -> Any:
    """Replace `distance` by `log(1 + exp(-abs(distance)))`."""
    np.abs(distance, distance)
    np.negative(distance, distance)
    np.exp(distance, distance)
    if distance.dtype != np.float32 or has_vectors("log1p"):
        return np.log1p(distance, distance)
    np.divide(distance, distance + number(2, distance.dtype), distance)
    factor = np.square(distance)
    return np.multiply(distance, polynomial(np.empty_like(factor), factor, _LOGARITHM), distance)


def _logaddexp(out: Any, x: Any, y: Any) -> None:
    distance = np.subtract(x, y)
    if np.isnan(distance.min()):  # x or y is NaN, or both are the same infinity
        distance[np.isnan(distance)] = np.inf
    np.maximum(x, y, out=out)
    np.add(out, _log1p_exp(distance), out)


_large_logaddexp = without_warnings(lambda input, other: in_chunk_pairs(_logaddexp, input, other))


@kernel
def logaddexp(input: Any, other: Any) -> Any:
    dtype = input.dtype
    if dtype not in _VECTORIZED or dtype != other.dtype:
        return OPS["logaddexp"].forward(namespace, input, other)
    if input.size <= _SMALL_SIZE:
        return np.logaddexp(input, other)
    return _large_logaddexp(input, other)


_EXP_LIMIT = 600  # limit of exponents: exp(-600) and its sums are normal float64 numbers


def _running_sums(out: Any, rows: Any) -> None:
    """Compute logcumsumexp of rows in float64 relative to each row's maximum; use the forward if that might underflow."""
    wide = rows.astype(np.float64)
    peaks = np.maximum.reduce(wide, -1, None, None, True)
    np.subtract(wide, peaks, wide)
    if not np.minimum.reduce(wide, None) > -_EXP_LIMIT:
        out[...] = OPS["logcumsumexp"].forward(namespace, rows, 1)
        return
    np.exp(wide, wide)
    np.add.accumulate(wide, -1, None, wide)
    np.log(wide, wide)
    np.add(wide, peaks, out, casting="same_kind")


@kernel
@without_warnings
def logcumsumexp(input: Any, dim: int) -> Any:
    if input.dtype != np.float32 or not input.size:
        return OPS["logcumsumexp"].forward(namespace, input, dim)
    turned = np.ascontiguousarray(input.swapaxes(dim, -1))
    length = turned.shape[-1]
    rows, result = turned.reshape(-1, length), np.empty(turned.shape, turned.dtype)
    sums = result.reshape(-1, length)
    map_chunks(lambda chunk: _running_sums(sums[chunk], rows[chunk]), len(rows), 2 * length)
    return np.ascontiguousarray(result.swapaxes(dim, -1))


@kernel
@without_warnings
def softplus(input: Any, beta: float, threshold: float) -> Any:
    dtype = input.dtype
    plain = beta == 1 and threshold >= 20 and dtype == np.float32  # the threshold has no effect in float32

    def compute(out: Any, x: Any) -> None:
        scaled = x.copy() if beta == 1 else np.multiply(x, number(beta, dtype))
        clip(out, scaled, number(0, dtype))
        linear = None if plain else scaled > threshold
        np.add(out, _log1p_exp(scaled), out)
        if beta != 1:
            np.divide(out, number(beta, dtype), out)
        if linear is not None and linear.any():
            select(linear, x, out, out)

    return in_chunks(compute, input)


@kernel
@without_warnings
def softplus_backward(g: Any, input: Any, beta: float, threshold: float) -> Any:
    dtype = input.dtype

    def compute(out: Any, grad: Any, x: Any) -> None:
        linear = x > threshold if beta == 1 else np.multiply(x, number(beta, dtype), out) > threshold
        np.negative(x if beta == 1 else out, out)
        np.exp(out, out)
        np.add(out, number(1, dtype), out)
        np.divide(grad, out, out)
        if linear.any():
            select(linear, grad, out, out)

    return in_chunks(compute, g, input)


@kernel
@without_warnings
def log_sigmoid(input: Any) -> Any:
    def compute(out: Any, x: Any) -> None:
        clip(out, x, None, number(0, x.dtype))
        np.subtract(out, _log1p_exp(x.copy()), out)

    return in_chunks(compute, input)


@kernel
@without_warnings
def log_sigmoid_backward(g: Any, input: Any) -> Any:
    def compute(out: Any, grad: Any, x: Any) -> None:
        np.exp(x, out)
        np.add(out, number(1, x.dtype), out)
        np.divide(grad, out, out)

    return in_chunks(compute, g, input)


@kernel
@without_warnings
def logit(input: Any, eps: float | None = None) -> Any:
    """Compute `log(x / (1 - x))` in float64, since near 0.5 float32 odds would lose all digits of the result."""

    def compute(out: Any, x: Any) -> None:
        odds = (x if eps is None else np.clip(x, eps, 1 - eps)).astype(np.float64)  # the limits are also rounded to the dtype
        np.divide(odds, 1 - odds, odds)
        np.log(odds, odds)
        out[...] = odds

    return in_chunks(compute, input, width=2)
