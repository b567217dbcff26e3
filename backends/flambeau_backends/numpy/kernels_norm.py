"""Normalization of rows (layer, group and instance norm), and of channels over a batch (batch norm)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from . import row_norm
from .chunks import chunks, contiguous, map_chunks, map_parts
from .constants import number
from .error_state import without_warnings
from .kernels import KERNELS, kernel
from .layout import keeps_channels_last
from .sums import products_of_rows, row_sums

Dims = Sequence[int]
_SMALL_SIZE = 1 << 13  # number of elements up to which call overhead outweighs computation
_LONG = 1 << 8  # positions per channel above which broadcasting a column is as fast as multiplying two arrays of equal shape


# --- rows: statistics over contiguous elements --------------------------------------------------------------------


class _Rows:
    """The input as `(sample, row of the sample, element)`, with weight and bias for the elements of each row."""

    def __init__(self, input: Any, weight: Any, bias: Any, dims: Dims) -> None:
        self.length = _length(input, dims)
        shapes = [parameter.shape for parameter in (weight, bias) if parameter is not None]
        extra = max(0, *(len(shape) - len(dims) for shape in shapes)) if shapes else 0
        leading = input.ndim - len(dims) - extra  # leading dimensions that weight and bias do not have
        inner = input.shape[leading:]
        self.tile = (prod(inner) // max(self.length, 1), self.length)
        self.input = np.ascontiguousarray(input).reshape(prod(input.shape[:leading]), *self.tile)
        self.weight, self.bias = (
            None if parameter is None else np.ascontiguousarray(np.broadcast_to(parameter, inner)).reshape(self.tile)
            for parameter in (weight, bias)
        )
        self.inner = inner

    def means(self, part: Any) -> Any:
        average = np.full(self.length, 1 / max(self.length, 1), part.dtype)
        return (part.reshape(-1, self.length) @ average).reshape(*part.shape[:-1], 1)

    def standardize(self, chunk: slice, eps: float, saved: Any = None) -> tuple[Any, Any, Any]:
        """Return some rows normalized to mean 0 and variance 1, and their means and scales (inverse standard deviations)."""
        part, dtype = self.input[chunk], self.input.dtype
        if saved is not None:
            mean, scale = (statistic[chunk] for statistic in saved)
            normalized = part - mean
        else:
            mean = self.means(part)
            normalized = part - mean
            scale = np.vecdot(normalized, normalized)[..., None]
            scale *= dtype.type(1 / self.length)
            scale += dtype.type(eps)
            np.divide(np.sqrt(scale), scale, scale)  # NaN, not 0, if the variance overflows
        normalized *= scale
        return normalized, mean, scale


def _length(input: Any, dims: Dims) -> int:
    return input.shape[dims[0]] if len(dims) == 1 else prod([input.shape[dim] for dim in dims])


def _one_row_each(dims: Dims, weight: Any, bias: Any) -> bool:
    """Whether all rows share one weight vector and one bias vector, as in layer norm."""
    return (weight is None or weight.ndim == len(dims)) and (bias is None or bias.ndim == len(dims))


def _channels(input: Any, weight: Any, bias: Any, dims: Dims) -> tuple[int, int, int] | None:
    """Return (rows per sample, channels per row, positions per channel) if weight and bias are constant within channels.

    Return None if they are not, or if there are few positions per channel.
    """
    shape = (weight if bias is None else bias).shape if weight is not None or bias is not None else ()
    if weight is not None and weight.shape != shape:
        return None
    space = 0 if shape else len(dims)
    while space < len(dims) and shape[-1 - space] == 1:
        space += 1
    positions = prod(input.shape[input.ndim - space :])
    own = shape[: len(shape) - space]
    if positions < _LONG or own != input.shape[input.ndim - len(shape) : input.ndim - space][: len(own)]:
        return None
    extra = max(len(shape) - len(dims), 0)
    return prod(own[:extra]), prod(own[extra:]), positions


def _row_norm(input: Any, weight: Any, bias: Any, dims: Dims, eps: float, workspace: Any) -> Any:
    channels = _channels(input, weight, bias, dims) if input.size > _SMALL_SIZE else None
    if channels is not None:
        weight, bias = (None if p is None else p.reshape(*channels[:2], 1) for p in (weight, bias))
        output, statistics = row_norm.normalize_channels(contiguous(input).reshape(-1, *channels), weight, bias, eps)
        if workspace is not None:
            workspace["means and scales"] = statistics.reshape(2, -1)
            workspace["moments"] = statistics[..., None]
        return output.reshape(input.shape)
    if _one_row_each(dims, weight, bias):
        output, statistics = row_norm.normalize(input, weight, bias, _length(input, dims), eps, workspace is not None)
        if workspace is not None:
            workspace["means and scales"] = statistics
        return output
    rows = _Rows(input, weight, bias, dims)
    output = np.empty(rows.input.shape, input.dtype)
    means = np.empty((*rows.input.shape[:2], 1), input.dtype)
    scales = np.empty_like(means)
    for chunk in chunks(len(output), prod(rows.tile)):
        part, means[chunk], scales[chunk] = rows.standardize(chunk, eps)
        if rows.weight is not None:
            part *= rows.weight
        if rows.bias is not None:
            part += rows.bias
        output[chunk] = part
    if workspace is not None:
        workspace["moments"] = means, scales
    return output.reshape(input.shape)


def _row_norm_backward(g: Any, input: Any, weight: Any, bias: Any, dims: Dims, eps: float, workspace: Any) -> Any:
    if _one_row_each(dims, weight, bias):
        saved = workspace.get("means and scales") if workspace else None
        return row_norm.normalize_backward(g, input, weight, bias, _length(input, dims), eps, saved)
    rows = _Rows(input, weight, bias, dims)
    grads = np.ascontiguousarray(g).reshape(rows.input.shape)
    saved = workspace.get("moments") if workspace else None
    grad_input = np.empty(grads.shape, g.dtype)
    grad_weight, grad_bias = (None if parameter is None else np.zeros(rows.tile, g.dtype) for parameter in (weight, bias))
    for chunk in chunks(len(grad_input), prod(rows.tile)):
        grad, out = grads[chunk], grad_input[chunk]
        normalized, _, scale = rows.standardize(chunk, eps, saved)
        if grad_bias is not None:
            grad_bias += grad.sum(0)
        if grad_weight is not None:
            grad_weight += np.multiply(grad, normalized, out).sum(0)
        scaled = grad if rows.weight is None else grad * rows.weight
        projection = np.vecdot(scaled, normalized)[..., None]
        projection *= g.dtype.type(1 / rows.length)
        normalized *= projection
        np.subtract(scaled, normalized, out)
        out -= rows.means(scaled)
        out *= scale
    return (
        grad_input.reshape(input.shape),
        *(
            None if parameter is None else _summed_to(grad.reshape(rows.inner), parameter.shape)
            for parameter, grad in ((weight, grad_weight), (bias, grad_bias))
        ),
    )


def _summed_to(array: Any, shape: Any) -> Any:
    extra = array.ndim - len(shape)
    dims = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and array.shape[i + extra] != 1))
    return array.sum(dims, keepdims=True).reshape(shape) if dims else array.reshape(shape)


# --- channels: statistics over the batch --------------------------------------------------------------------------


def _batches(input: Any) -> Any:
    """Reshape the input to `(sample, channel, position)`."""
    return contiguous(input).reshape(input.shape[0], input.shape[1], -1)


def _over_channels(dims: Dims, ndim: int) -> bool:
    return tuple(dims) == (0, *range(2, ndim))


def _sums(rows: Any) -> Any:
    """Sum over samples and positions: over positions in the input's dtype, then over samples in float64."""
    if rows.size <= _SMALL_SIZE:
        return np.add.reduce(rows, (0, 2), np.float64)
    rows_2d = rows.reshape(-1, rows.shape[2])
    sums = row_sums(rows_2d) if rows.shape[2] > row_norm.LONG else rows_2d @ np.ones(rows.shape[2], rows.dtype)
    return np.add.reduce(sums.reshape(rows.shape[:2]), 0, np.float64)


def _products(rows: Any, others: Any) -> Any:
    """Sum the products of `rows` and `others` over samples and positions, as `_sums` does."""
    if rows.shape[2] > row_norm.LONG:
        products = products_of_rows(*(array.reshape(-1, rows.shape[2]) for array in (rows, others))).reshape(rows.shape[:2])
    else:
        products = np.vecdot(rows, others)
    return np.add.reduce(products, 0, np.float64)


def _sums_and_products(rows: Any, others: Any) -> tuple[Any, Any]:
    """Return, for each channel, the sum of `rows` and the sum of `rows * others`."""
    parts = map_parts(lambda part: (_sums(rows[part]), _products(rows[part], others[part])), len(rows), rows[0].size)
    return parts[0] if len(parts) == 1 else (sum(s for s, _ in parts), sum(s for _, s in parts))


def _products_with_centred(rows: Any, others: Any, mean: Any) -> Any:
    """Return `sum(rows * (others - mean))` for each channel; if both are the same array, `sum((rows - mean) ** 2)`."""
    mean = mean[:, None].astype(rows.dtype, copy=False)

    def compute(chunk: slice) -> Any:
        centred = others[chunk] - mean
        return _products(centred if rows is others else rows[chunk], centred)

    return sum(map_chunks(compute, len(rows), rows[0].size))


@kernel
def moments(input: Any, dims: Dims) -> Any:
    if not input.size:
        nothing = np.full([1 if dim in dims else n for dim, n in enumerate(input.shape)], np.nan, input.dtype)
        return nothing, nothing.copy()
    if not _over_channels(dims, input.ndim):
        mean = input.mean(tuple(dims), keepdims=True)
        return mean, np.square(input - mean).mean(tuple(dims), keepdims=True)
    rows, shape = _batches(input), (1, -1, *(1,) * (input.ndim - 2))
    count = rows.shape[0] * rows.shape[2]
    if rows.size <= _SMALL_SIZE:
        mean = _sums(rows) / count
        spread = _products_with_centred(rows, rows, mean)
    else:
        total, squares = _sums_and_products(rows, rows)
        mean = total / count
        shift = mean * total
        spread = squares - shift
        if not row_norm.are_near(shift, spread):
            spread = _products_with_centred(rows, rows, mean)
    spread /= count
    return mean.astype(input.dtype).reshape(shape), spread.astype(input.dtype).reshape(shape)


def _spread(values: Any, places: int) -> Any:
    """Repeat each channel's value for all its positions, since NumPy is faster at multiplying full arrays than broadcasting."""
    return np.repeat(values, places).reshape(len(values), places)


def _scales(variance: Any, eps: float) -> Any:
    """Compute `1 / sqrt(variance + eps)` for each channel."""
    scales = np.add(variance.reshape(-1), number(eps, variance.dtype))
    np.sqrt(scales, scales)
    return np.reciprocal(scales, scales)


def _channel_norm(input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    rows, dtype = _batches(input), input.dtype
    factor = _scales(variance, eps)
    if weight is not None:
        factor = factor * weight.reshape(-1)
    offset = -mean.reshape(-1) * factor
    if bias is not None:
        offset = offset + bias.reshape(-1)
    if factor.dtype is not dtype:
        factor, offset = factor.astype(dtype, copy=False), offset.astype(dtype, copy=False)
    if rows.size <= _SMALL_SIZE:
        output = rows * factor[:, None]
        output += offset[:, None]
        return output.reshape(input.shape)
    factor, offset = _spread(factor, rows.shape[2]), _spread(offset, rows.shape[2])
    output = np.empty(rows.shape, dtype)

    def compute(chunk: slice) -> None:
        part = output[chunk]
        np.multiply(rows[chunk], factor, part)
        part += offset

    map_chunks(compute, len(rows), factor.size)
    return output.reshape(input.shape)


def _channel_gradients(grads: Any, rows: Any, mean: Any, scale: Any) -> tuple[Any, Any]:
    """Return, for each channel, the sum of the gradient and the sum of `gradient * (input - mean)`."""
    total, projection = _sums_and_products(grads, rows)
    if row_norm.are_near(np.square(mean * scale), 1):
        projection -= mean * total
    else:
        projection = _products_with_centred(grads, rows, mean)
    return total.astype(grads.dtype), projection.astype(grads.dtype)


def _channel_norm_backward(
    g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float, fixed: bool
) -> tuple[Any, Any, Any]:
    """Return the gradients of input, weight and bias; `fixed` means that mean and variance do not depend on the input."""
    dtype, rows, grads = g.dtype, _batches(input), _batches(g)
    mean = mean.reshape(-1).astype(dtype, copy=False)
    scale = _scales(variance, eps).astype(dtype, copy=False)
    total, projection = _channel_gradients(grads, rows, mean, scale)
    factor = scale if weight is None else scale * weight.reshape(-1).astype(dtype, copy=False)
    grad_input = _back_through(grads, rows, factor, *(() if fixed else _tilt(rows, mean, scale, total, projection)))
    return (
        grad_input.reshape(input.shape),
        None if weight is None else (projection * scale).reshape(weight.shape),
        None if bias is None else total.reshape(bias.shape),
    )


def _tilt(rows: Any, mean: Any, scale: Any, total: Any, projection: Any) -> tuple[Any, Any]:
    """Return `tilt` and `offset` of `_back_through`: the part of the gradient that passes through the mean and the variance."""
    share = rows.dtype.type(1 / (rows.shape[0] * rows.shape[2]))
    tilt = -projection * scale * scale * share
    return tilt, -mean * tilt - total * share


def _back_through(grads: Any, rows: Any, factor: Any, tilt: Any = None, offset: Any = None) -> Any:
    """Compute `factor * (grads + tilt * rows + offset)` for each channel."""
    places, result = rows.shape[2], np.empty(grads.shape, grads.dtype)
    factor = _spread(factor, places)
    if tilt is not None:
        tilt, offset = _spread(tilt, places), _spread(offset, places)

    def compute(chunk: slice) -> None:
        part = result[chunk]
        if tilt is None:
            np.multiply(grads[chunk], factor, part)
            return
        np.multiply(rows[chunk], tilt, part)
        part += offset
        part += grads[chunk]
        part *= factor

    map_chunks(compute, len(rows), factor.size)
    return result


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
    """Return zero gradients, for an empty input."""
    return tuple(None if array is None else np.zeros_like(array) for array in arrays)


@kernel
def norm_backward(
    g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, dims: Dims, eps: float, workspace: Any
) -> Any:
    if not input.size:
        return _nothing(input, weight, bias)
    if mean is not None:
        return _channel_norm_backward(g, input, weight, bias, mean, variance, eps, fixed=False)
    return _row_norm_backward(g, input, weight, bias, dims, eps, workspace)


@kernel
def fixed_norm_backward(g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    if not input.size:
        return _nothing(input, weight, bias)
    return _channel_norm_backward(g, input, weight, bias, mean, variance, eps, fixed=True)


# --- root mean squares --------------------------------------------------------------------------------------------


@kernel
@without_warnings
def rms_norm_rows(input: Any, weight: Any, count: int, eps: float) -> Any:
    """Divide rows, the last `count` dimensions, by the root of their mean square, and multiply them by the weight."""
    rows = input.reshape(prod(input.shape[:-count]), -1)
    if rows.shape[1] > row_norm.LONG:
        scales = row_sums(np.square(rows))
    else:
        scales = np.vecdot(rows, rows)
    np.multiply(scales, number(1 / rows.shape[1], scales.dtype), scales)
    np.add(scales, number(eps, scales.dtype), scales)
    np.sqrt(scales, scales)
    output = np.divide(rows, scales[:, None], order="C")
    if weight is not None:
        np.multiply(output, weight.reshape(-1), output)
    return output.reshape(input.shape)
