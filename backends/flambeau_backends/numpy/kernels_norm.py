"""Normalization: of rows (layers, groups, instances), and of channels over a batch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from . import row_norm
from .kernels import KERNELS, kernel
from .layout import keeps_channels_last
from .pieces import contiguous, over_pieces, pieces, wide
from .sums import total

Dims = Sequence[int]
_FEW = 1 << 13  # elements for which it is the number of calls that counts


# --- rows: what is normalized together lies together --------------------------------------------------------------


class _Rows:
    """An input as `(sample, row of a sample, element)`, with weight and bias for the elements of each row."""

    def __init__(self, input: Any, weight: Any, bias: Any, dims: Dims) -> None:
        self.length = prod(input.shape[dim] for dim in dims)
        shapes = [each.shape for each in (weight, bias) if each is not None]
        extra = max(0, *(len(shape) - len(dims) for shape in shapes)) if shapes else 0
        kept = input.ndim - len(dims) - extra  # dimensions that weight and bias know nothing of
        inner = input.shape[kept:]
        self.tile = (prod(inner) // max(self.length, 1), self.length)
        self.input = np.ascontiguousarray(input).reshape(prod(input.shape[:kept]), *self.tile)
        self.weight, self.bias = (
            None if each is None else np.ascontiguousarray(np.broadcast_to(each, inner)).reshape(self.tile)
            for each in (weight, bias)
        )
        self.inner = inner

    def means(self, part: Any) -> Any:
        average = np.full(self.length, 1 / max(self.length, 1), part.dtype)
        return (part.reshape(-1, self.length) @ average).reshape(*part.shape[:-1], 1)

    def standardize(self, piece: slice, eps: float, kept: Any = None) -> tuple[Any, Any, Any]:
        """A piece with mean 0 and variance 1, its mean, and what it was scaled by."""
        part, dtype = self.input[piece], self.input.dtype
        if kept is not None:
            mean, scale = (each[piece] for each in kept)
            made = part - mean
        else:
            mean = self.means(part)
            made = part - mean
            scale = np.vecdot(made, made)[..., None]
            scale *= dtype.type(1 / self.length)
            scale += dtype.type(eps)
            np.sqrt(scale, scale)
            np.reciprocal(scale, scale)
        made *= scale
        return made, mean, scale


def _one_row_each(dims: Dims, weight: Any, bias: Any) -> bool:
    """Whether weight and bias are those of all rows, which lie one after the other."""
    return all(each is None or each.ndim == len(dims) for each in (weight, bias))


def _row_norm(input: Any, weight: Any, bias: Any, dims: Dims, eps: float, workspace: Any) -> Any:
    if _one_row_each(dims, weight, bias):
        made, kept = row_norm.normalize(input, weight, bias, prod(input.shape[dim] for dim in dims), eps)
        if workspace is not None:
            workspace["means and scales"] = kept
        return made
    rows = _Rows(input, weight, bias, dims)
    made = np.empty(rows.input.shape, input.dtype)
    means = np.empty((*rows.input.shape[:2], 1), input.dtype)
    scales = np.empty_like(means)
    for piece in pieces(len(made), prod(rows.tile)):
        part, means[piece], scales[piece] = rows.standardize(piece, eps)
        if rows.weight is not None:
            part *= rows.weight
        if rows.bias is not None:
            part += rows.bias
        made[piece] = part
    if workspace is not None:
        workspace["moments"] = means, scales
    return made.reshape(input.shape)


def _row_norm_backward(g: Any, input: Any, weight: Any, bias: Any, dims: Dims, eps: float, workspace: Any) -> Any:
    if _one_row_each(dims, weight, bias):
        kept = workspace.get("means and scales") if workspace else None
        return row_norm.normalize_backward(g, input, weight, bias, prod(input.shape[dim] for dim in dims), eps, kept)
    rows = _Rows(input, weight, bias, dims)
    slopes = np.ascontiguousarray(g).reshape(rows.input.shape)
    kept = workspace.get("moments") if workspace else None
    made = np.empty(slopes.shape, g.dtype)
    weight_slope, bias_slope = (None if each is None else np.zeros(rows.tile, g.dtype) for each in (weight, bias))
    for piece in pieces(len(made), prod(rows.tile)):
        slope, out = slopes[piece], made[piece]
        standard, _, scale = rows.standardize(piece, eps, kept)
        if bias_slope is not None:
            bias_slope += slope.sum(0)
        if weight_slope is not None:
            weight_slope += np.multiply(slope, standard, out).sum(0)
        through = slope if rows.weight is None else slope * rows.weight
        along = np.vecdot(through, standard)[..., None]
        along *= g.dtype.type(1 / rows.length)
        standard *= along
        np.subtract(through, standard, out)
        out -= rows.means(through)
        out *= scale
    return (
        made.reshape(input.shape),
        *(
            None if each is None else _summed_to(slope.reshape(rows.inner), each.shape)
            for each, slope in ((weight, weight_slope), (bias, bias_slope))
        ),
    )


def _summed_to(array: Any, shape: Any) -> Any:
    extra = array.ndim - len(shape)
    dims = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and array.shape[i + extra] != 1))
    return array.sum(dims, keepdims=True).reshape(shape) if dims else array.reshape(shape)


# --- channels: what is normalized together is spread over the batch -----------------------------------------------


def _batches(input: Any) -> Any:
    """`(sample, channel, place)`."""
    return contiguous(input).reshape(input.shape[0], input.shape[1], -1)


def _over_channels(dims: Dims, ndim: int) -> bool:
    return tuple(dims) == (0, *range(2, ndim))


def _channel_sums(rows: Any) -> Any:
    """Sums over samples and places."""
    if rows.size <= _FEW:
        return total(rows, (0, 2))
    return total((rows.reshape(-1, rows.shape[2]) @ np.ones(rows.shape[2], rows.dtype)).reshape(rows.shape[:2]), 0)


def _moments_of(rows: Any) -> tuple[int, Any, Any]:
    """How many elements a channel has, their mean, and the sum of the squares of their distances from it."""
    count = rows.shape[0] * rows.shape[2]
    mean = _channel_sums(rows) / rows.dtype.type(count)
    centered = rows - mean[:, None]
    return count, mean, total(np.vecdot(centered, centered), 0)


@kernel
def moments(input: Any, dims: Dims) -> Any:
    if not input.size:
        nothing = np.full([1 if dim in dims else n for dim, n in enumerate(input.shape)], np.nan, input.dtype)
        return nothing, nothing.copy()
    if not _over_channels(dims, input.ndim):
        mean = input.mean(tuple(dims), keepdims=True)
        return mean, np.square(input - mean).mean(tuple(dims), keepdims=True)
    rows, shape = _batches(input), (1, -1, *(1,) * (input.ndim - 2))
    share = rows.dtype.type(1 / (rows.shape[0] * rows.shape[2]))
    if rows.size <= _FEW:
        _, mean, spread = _moments_of(rows)
        return mean.reshape(shape), (spread * share).reshape(shape)
    found = over_pieces(lambda piece: _moments_of(rows[piece]), len(rows), rows[0].size)
    mean = sum(part * count for count, part, _ in found) * share
    spread = sum(part + np.square(center - mean) * count for count, center, part in found)  # Chan et al. (1983)
    return mean.reshape(shape), (spread * share).reshape(shape)


def _spread(values: Any, places: int) -> Any:
    """A number for each channel as a row of one for each place: NumPy scales rows faster than it broadcasts."""
    return np.repeat(values, places).reshape(len(values), places)


def _channel_norm(input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    rows, dtype = _batches(input), input.dtype
    factor = 1 / np.sqrt(variance.reshape(-1) + variance.dtype.type(eps))
    if weight is not None:
        factor = factor * weight.reshape(-1)
    offset = -mean.reshape(-1) * factor
    if bias is not None:
        offset = offset + bias.reshape(-1)
    factor, offset = factor.astype(dtype, copy=False), offset.astype(dtype, copy=False)
    if rows.size <= _FEW:
        made = rows * factor[:, None]
        made += offset[:, None]
        return made.reshape(input.shape)
    factor, offset = _spread(factor, rows.shape[2]), _spread(offset, rows.shape[2])
    made = np.empty(rows.shape, dtype)

    def compute(piece: slice) -> None:
        part = made[piece]
        np.multiply(rows[piece], factor, part)
        part += offset

    over_pieces(compute, len(rows), factor.size)
    return made.reshape(input.shape)


def _channel_slopes(slopes: Any, rows: Any, mean: Any) -> tuple[Any, Any]:
    """Sums of the gradient, and of its products with the centred input."""
    center = mean[:, None]

    def compute(piece: slice) -> tuple[Any, Any]:
        return _channel_sums(slopes[piece]), total(np.vecdot(rows[piece] - center, slopes[piece]), 0)

    found = over_pieces(compute, len(rows), rows[0].size)
    return sum(each for each, _ in found), sum(each for _, each in found)


def _channel_norm_backward(
    g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float, fixed: bool
) -> tuple[Any, Any, Any]:
    """Gradients of input, weight and bias; `fixed` where mean and variance do not depend on the input."""
    dtype, rows, slopes = g.dtype, _batches(input), _batches(g)
    mean = mean.reshape(-1).astype(dtype, copy=False)
    scale = (1 / np.sqrt(variance.reshape(-1) + variance.dtype.type(eps))).astype(dtype, copy=False)
    total, along = _channel_slopes(slopes, rows, mean)
    factor = scale if weight is None else scale * weight.reshape(-1).astype(dtype, copy=False)
    made = _back_through(slopes, rows, factor, *(() if fixed else _tilt(rows, mean, scale, total, along)))
    return (
        made.reshape(input.shape),
        None if weight is None else (along * scale).reshape(weight.shape),
        None if bias is None else total.reshape(bias.shape),
    )


def _tilt(rows: Any, mean: Any, scale: Any, total: Any, along: Any) -> tuple[Any, Any]:
    """What the statistics' dependence on the input adds to the gradient: so many times the input, and so much."""
    share = rows.dtype.type(1 / (rows.shape[0] * rows.shape[2]))
    tilt = -along * scale * scale * share
    return tilt, -mean * tilt - total * share


def _back_through(slopes: Any, rows: Any, factor: Any, tilt: Any = None, offset: Any = None) -> Any:
    """`factor * (slopes + tilt * rows + offset)`, channel by channel."""
    places, made = rows.shape[2], np.empty(slopes.shape, slopes.dtype)
    factor = _spread(factor, places)
    if tilt is not None:
        tilt, offset = _spread(tilt, places), _spread(offset, places)

    def compute(piece: slice) -> None:
        part = made[piece]
        if tilt is None:
            np.multiply(slopes[piece], factor, part)
            return
        np.multiply(rows[piece], tilt, part)
        part += offset
        part += slopes[piece]
        part *= factor

    over_pieces(compute, len(rows), factor.size)
    return made


# --- the operations -----------------------------------------------------------------------------------------------


def _norm(
    input: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    variance: Any = None,
    dims: Dims = (),
    eps: float = 0.0,
    workspace: Any = None,
) -> Any:
    if not input.size:
        return np.empty_like(input)
    if mean is not None:
        return _channel_norm(input, weight, bias, mean, variance, eps)
    return _row_norm(input, weight, bias, dims, eps, workspace)


_norm_of_batch = keeps_channels_last(_norm)
KERNELS.update(batch_norm=_norm_of_batch, fixed_norm=_norm_of_batch, layer_norm=_norm, group_norm=_norm)


def _nothing(*arrays: Any) -> tuple[Any, ...]:
    """Gradients where there are no elements."""
    return tuple(None if each is None else np.zeros_like(each) for each in arrays)


@kernel
@wide
def norm_backward(
    g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, dims: Dims, eps: float, workspace: Any
) -> Any:
    if not input.size:
        return _nothing(input, weight, bias)
    if mean is not None:
        return _channel_norm_backward(g, input, weight, bias, mean, variance, eps, fixed=False)
    return _row_norm_backward(g, input, weight, bias, dims, eps, workspace)


@kernel
@wide
def fixed_norm_backward(g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    if not input.size:
        return _nothing(input, weight, bias)
    return _channel_norm_backward(g, input, weight, bias, mean, variance, eps, fixed=True)
