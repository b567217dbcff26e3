"""Resampling (interpolation) by banded matrix products.

An output element depends on a few neighbours in the input, so the weight matrix is a band.  Products with dense pieces of the
band do little more arithmetic than necessary, and are computed by BLAS.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from flambeau.operations.resampling import (
    Taps,
    resample_forward,
    taps_of,
    unit_for_bytes,
    weighted_pixels_forward,
)

from .chunks import chunks, map_chunks, select
from .kernels import kernel
from .layout import keeps_channels_last

__all__: list[str] = []

_HEIGHT = 16  # number of rows of each piece of the band


class _Piece(NamedTuple):
    """Some rows of the weight matrix, without columns that are zero in all of them."""

    rows: slice
    columns: slice
    weights: Any  # transposed if it is the right operand, as BLAS is then nearly twice as fast


def _is_last(shape: Sequence[int], dim: int) -> bool:
    """Whether vectors along the dimension are contiguous, so that the weight matrix is the right operand of the product."""
    return prod(shape[dim + 1 :] if dim != -1 else ()) == 1


def _cut(matrix: Any, first: Any, last: Any, transposed: bool) -> list[_Piece]:
    """Split a matrix into pieces of a few rows, each with the columns from its first to its last nonzero weight."""
    pieces = []
    for start in range(0, len(matrix), _HEIGHT):
        rows = slice(start, min(start + _HEIGHT, len(matrix)))
        columns = slice(int(first[start]), int(last[rows.stop - 1]) + 1)
        piece = matrix[rows, columns]
        pieces.append(_Piece(rows, columns, (piece.T if transposed else piece).copy()))
    return pieces


def _matrix(indices: Any, weights: Any, length: int, dtype: Any) -> Any:
    """Return a matrix with `weights[i]` in the columns `indices[i]` of row i; weights at equal indices are added."""
    matrix = np.zeros((len(indices), length), dtype)
    np.add.at(matrix, (np.arange(len(indices))[:, None], indices), weights)
    return matrix


def _along(input: Any, dim: int, size: int, pieces: list[_Piece]) -> Any:
    """Multiply a matrix of `size` rows, given as pieces, with the vectors along `dim` of a contiguous input."""
    before, after = prod(input.shape[:dim]), prod(input.shape[dim + 1 :])
    result = np.empty((*input.shape[:dim], size, *input.shape[dim + 1 :]), input.dtype)
    if after == 1:
        vectors, products = input.reshape(before, -1), result.reshape(before, size)
        for rows, columns, weights in pieces:
            np.matmul(vectors[:, columns], weights, out=products[:, rows])
        return result
    vectors, products = input.reshape(before, -1, after), result.reshape(before, size, after)
    for rows, columns, weights in pieces:
        np.matmul(weights, vectors[:, columns], out=products[:, rows])
    return result


# --- floating-point numbers ---------------------------------------------------------------------------------------


@functools.lru_cache(64)
def _pieces_of(taps: Taps, dtype: Any, transposed: bool) -> list[_Piece]:
    indices = np.array(taps.indices)
    matrix = _matrix(indices, np.array(taps.weights), taps.length, dtype)
    return _cut(matrix, indices[:, 0], indices[:, -1], transposed)


@functools.lru_cache(64)
def _transposed(taps: Taps, dtype: Any) -> Any:
    return np.array(taps.matrix(), dtype).T


@kernel
@keeps_channels_last
def resample(input: Any, dim: int, taps: Taps) -> Any:
    size = taps.size
    if not input.size or not size:
        return np.empty((*input.shape[:dim], size, *input.shape[dim + 1 :]), input.dtype)
    if taps.weights is None:
        return resample_forward(np, input, dim, taps)
    output = _along(np.ascontiguousarray(input), dim, size, _pieces_of(taps, input.dtype, _is_last(input.shape, dim)))
    if not np.isfinite(output).all():  # 0 * inf gave NaN in outputs that do not depend on the infinity
        return resample_forward(np, input, dim, taps)
    return output


@kernel
def resample_backward(input: Any, dim: int, taps: Taps) -> Any:
    matrix = _transposed(taps, input.dtype)
    before, after = prod(input.shape[:dim]), prod(input.shape[dim + 1 :])
    gradient = np.matmul(matrix, input.reshape(before, input.shape[dim], after))
    return gradient.reshape(*input.shape[:dim], len(matrix), *input.shape[dim + 1 :])


@kernel
@keeps_channels_last
def resample_nearest(input: Any, dim: int, taps: Taps) -> Any:
    return input.take([places[0] for places in taps.indices], dim)


# --- points -------------------------------------------------------------------------------------------------------


@kernel
def weighted_pixels(input: Any, weights: Any, index: Any) -> Any:
    (batch, channels, _), (_, neighbours, points) = input.shape, index.shape
    output, outside = np.empty((batch, channels, points), input.dtype), np.less(index, 0)
    factors, taken = (select(~outside, weights), np.maximum(index, 0)) if outside.any() else (weights, index)

    def compute(samples: slice) -> None:
        for image, factor, places, sums in zip(input[samples], factors[samples], taken[samples], output[samples], strict=True):
            for piece in chunks(points, channels):
                out = np.multiply(image.take(places[0, piece], 1, None, "wrap"), factor[0, piece], sums[:, piece])
                for k in range(1, neighbours):
                    part = image.take(places[k, piece], 1, None, "wrap")
                    np.add(out, np.multiply(part, factor[k, piece], part), out)

    map_chunks(compute, batch, channels * points * neighbours)
    if not np.isfinite(output).all():  # pixels outside must contribute 0, even if the substituted pixel is infinite
        return weighted_pixels_forward(np, input, weights, index)
    return output


# --- uint8 images -------------------------------------------------------------------------------------------------


def _triangle(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x: Any) -> Any:
    x = np.abs(x)
    near = (1.5 * x - 2.5) * x * x + 1
    return np.where(x < 1, near, np.where(x < 2, (((x - 5) * x + 8) * x - 4) * -0.5, 0))


def _lanczos(x: Any) -> Any:
    return np.where((x >= -3) & (x < 3), np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear antialias": (_triangle, 1),
    "cubic antialias": (_cubic, 2),
    "lanczos antialias": (_lanczos, 3),
}


def _widened(filter: Callable[[Any], Any], reach: int, length: int, size: int, ratio: float) -> tuple[Any, Any]:
    """Return indices and weights of a filter widened by the ratio; vectorized, since random crops need new ones each time."""
    stretch = max(ratio, 1.0)
    centers = ratio * (np.arange(size) + 0.5)
    first = np.maximum((centers - reach * stretch + 0.5).astype(np.int64), 0)
    last = np.minimum((centers + reach * stretch + 0.5).astype(np.int64), length)
    places = first[:, None] + np.arange(max(int((last - first).max()), 1))
    weights = np.where(places < last[:, None], filter((places - (centers[:, None] - 0.5)) / stretch), 0)
    totals = weights.cumsum(1)[:, -1:]  # summed from left to right, like a loop
    return places, weights / np.where(totals == 0, 1, totals)


@functools.lru_cache(256)
def _pieces_for_bytes(
    length: int, size: int, scale: float | None, align_corners: bool, filter: str, transposed: bool
) -> tuple[list[_Piece], Any, bool]:
    """Return the pieces, the dtype for computing, and whether results can leave the range of uint8.

    Weights are multiples of a power of 2, as in `in_fixed_point`.  Their sums are exact, in most cases even in float32.
    """
    if filter in _FILTERS and not align_corners:
        indices, weights = _widened(*_FILTERS[filter], length, size, 1.0 / scale if scale else length / size)
        unit = unit_for_bytes(float(weights.max()))
        weights = np.trunc(weights * unit + np.copysign(0.5, weights)) / unit
    else:
        taps = taps_of(filter, length, size, scale, align_corners, fixed_point=True)
        indices, weights = np.array(taps.indices), np.array(taps.weights)
        unit = unit_for_bytes(float(weights.max()))
    heaviest = 255 * float(np.abs(weights).sum(1).max())
    dtype = np.dtype(np.float32 if (heaviest + 0.5) * unit <= 2**24 else np.float64)
    if filter in _FILTERS and not align_corners:
        # Indices within a row are distinct; those beyond the end have weight 0.
        matrix = np.zeros((size, length + weights.shape[1]), dtype)
        matrix[np.arange(size)[:, None], indices] = weights
        matrix, indices = matrix[:, :length], np.minimum(indices[:, [0, -1]], length - 1)
    else:
        matrix = _matrix(indices, weights, length, dtype)
    pieces = _cut(matrix, indices[:, 0], indices[:, -1], transposed)
    return pieces, dtype, bool((weights < 0).any()) or heaviest + 0.5 >= 256


@kernel
@keeps_channels_last
def resample_bytes(input: Any, sizes: Sequence[int], scales: Sequence[float | None], align_corners: bool, filter: str) -> Any:
    if not input.size or not prod(sizes):
        return np.empty((*input.shape[: -len(sizes)], *sizes), input.dtype)
    output = input
    for dim, size, scale in zip(range(-1, -len(sizes) - 1, -1), reversed(sizes), reversed(scales), strict=True):
        if dim < -1 and output.dtype.kind == "f":
            np.floor(output, output)  # the results of each dimension are rounded to integers
        pieces, dtype, leaves = _pieces_for_bytes(
            input.shape[dim], size, scale, align_corners, filter, _is_last(output.shape, dim)
        )
        output = _along(output.astype(dtype, order="C", copy=False), input.ndim + dim, size, pieces)
        output += dtype.type(0.5)
        if leaves:
            np.clip(output, 0, 255, output)
    return output.astype(np.uint8)
