"""Logarithms of sums of exponentials, and of odds."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.calls.op import OPS

from .constants import number
from .kernels import clip, kernel
from .namespace import namespace
from .pieces import by_pairs_of_pieces, by_pieces, over_pieces, select
from .quiet import quiet

_OF_NUMPY = (np.dtype(np.float32), np.dtype(np.float64))  # whose exponentials and logarithms NumPy has in vectors
_FEW = 1 << 9  # elements up to which the C library is faster


def _add_log1p_exp(out: Any, distance: Any) -> None:
    """Add `log(1 + exp(-abs(distance)))` to `out`, and overwrite the distance."""
    np.abs(distance, distance)
    np.negative(distance, distance)
    np.exp(distance, distance)
    np.log1p(distance, distance)
    np.add(out, distance, out)


def _logaddexp(out: Any, x: Any, y: Any) -> None:
    distance = np.subtract(x, y)
    if np.isnan(distance.min()):  # NaN, or twice the same infinity
        distance[np.isnan(distance)] = np.inf
    np.maximum(x, y, out=out)
    _add_log1p_exp(out, distance)


_large_logaddexp = quiet(lambda input, other: by_pairs_of_pieces(_logaddexp, input, other))


@kernel
def logaddexp(input: Any, other: Any) -> Any:
    dtype = input.dtype
    if dtype not in _OF_NUMPY or dtype != other.dtype:
        return OPS["logaddexp"].forward(namespace, input, other)
    if input.size <= _FEW:
        return np.logaddexp(input, other)
    return _large_logaddexp(input, other)


_SAFE = 600  # `exp(-_SAFE)` and its sums are no subnormal doubles


def _running_sums(out: Any, rows: Any) -> None:
    """In double precision, relative to the largest element of each row; where that might underflow, by the forward."""
    wide = rows.astype(np.float64)
    peaks = np.maximum.reduce(wide, -1, None, None, True)
    np.subtract(wide, peaks, wide)
    if not np.minimum.reduce(wide, None) > -_SAFE:
        out[...] = OPS["logcumsumexp"].forward(namespace, rows, 1)
        return
    np.exp(wide, wide)
    np.add.accumulate(wide, -1, None, wide)
    np.log(wide, wide)
    np.add(wide, peaks, out, casting="same_kind")


@kernel
@quiet
def logcumsumexp(input: Any, dim: int) -> Any:
    if input.dtype != np.float32 or not input.size:
        return OPS["logcumsumexp"].forward(namespace, input, dim)
    turned = np.ascontiguousarray(input.swapaxes(dim, -1))
    length = turned.shape[-1]
    rows, result = turned.reshape(-1, length), np.empty(turned.shape, turned.dtype)
    sums = result.reshape(-1, length)
    over_pieces(lambda piece: _running_sums(sums[piece], rows[piece]), len(rows), 2 * length)
    return np.ascontiguousarray(result.swapaxes(dim, -1))


@kernel
@quiet
def softplus(input: Any, beta: float, threshold: float) -> Any:
    dtype = input.dtype
    plain = beta == 1 and threshold >= 20 and dtype == np.float32  # adds nothing to larger singles

    def compute(out: Any, x: Any) -> None:
        scaled = x.copy() if beta == 1 else np.multiply(x, number(beta, dtype))
        clip(out, scaled, number(0, dtype))
        linear = None if plain else scaled > threshold
        _add_log1p_exp(out, scaled)
        if beta != 1:
            np.divide(out, number(beta, dtype), out)
        if linear is not None and linear.any():
            out[...] = select(linear, x, out)

    return by_pieces(compute, input)


@kernel
@quiet
def logit(input: Any, eps: float | None = None) -> Any:
    """In double precision, as what a half and its neighbours leave is the rounding of odds."""

    def compute(out: Any, x: Any) -> None:
        odds = (x if eps is None else np.clip(x, eps, 1 - eps)).astype(np.float64)  # the limits, too, are rounded to the dtype
        np.divide(odds, 1 - odds, odds)
        np.log(odds, odds)
        out[...] = odds

    return by_pieces(compute, input, width=2)
