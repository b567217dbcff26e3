"""Convolution by matrix products.

Every window of the input is copied out, so that a convolution becomes a product of matrices, which BLAS does best.
Two layouts serve: *rows*, one for each window, its channels side by side, for one large product; and *columns*, image by
image, for a few channels or several groups.  Windows of 3 x 3 have a better way, Winograd's; groups of one channel need no
product at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import depthwise, winograd
from .kernels import kernel
from .layout import keeps_channels_last

Sizes = Sequence[int]

_ROWS_FROM = 8  # channels from which on rows are faster than columns
_FEW, _SHORT = 32, 64  # channels, and windows in a row, below which rows are folded line by line
_CACHE = 1 << 21  # bytes of columns that are unfolded at a time
_KEEP = 3  # times the size of the input: so large may rows or columns be that a forward keeps for the gradient of the weight
_EXACT = os.environ.get("FLAMBEAU_WINOGRAD") == "0"  # Winograd's way rounds more, by a factor of ten or so


# --- the three operations -----------------------------------------------------------------------------------------


@kernel
@keeps_channels_last
def convolution(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = (), padding: Sizes = (), dilation: Sizes = (), groups: int = 1,
    workspace: Any = None,
) -> Any:  # fmt: skip
    places = weight.shape[2:]
    size = output_size(input.shape[2:], places, stride, padding, dilation)
    if _by_winograd(input, weight.shape, size, stride, dilation, groups):
        made = winograd.convolve(input, weight, padding)
    elif _one_channel_each(weight, groups):
        made = depthwise.convolve(_padded(input, padding), weight, size, stride, dilation, groups)
    elif _by_rows(weight.shape, groups):
        rows = _rows(input, places, size, stride, padding, dilation)
        _keep(workspace, rows, input)
        made = _channels_second((rows @ _as_rows(weight).T).reshape(len(input), *size, len(weight)))
    else:
        columns = columns_of(input, places, size, stride, padding, dilation, groups)
        _keep(workspace, columns, input)
        made = np.matmul(_as_columns(weight, groups), columns).reshape(len(input), len(weight), *size)
    if bias is not None:
        made += bias.reshape(-1, *(1,) * len(size))
    return made


@kernel
def convolution_weight(
    grad: Any, input: Any, shape: Sizes = (), stride: Sizes = (), padding: Sizes = (), dilation: Sizes = (), groups: int = 1,
    workspace: Any = None,
) -> Any:  # fmt: skip
    kept = workspace.pop("windows", None) if workspace else None
    outputs, places, size = shape[0], shape[2:], grad.shape[2:]
    if _by_winograd(input, shape, size, stride, dilation, groups):
        return winograd.weight_gradient(grad, input, padding)
    if groups > 1 and shape[1] == 1:
        return depthwise.weight_gradient(grad, _padded(input, padding), shape, stride, dilation, groups)
    if _by_rows(shape, groups):
        rows = _rows(input, places, size, stride, padding, dilation) if kept is None else kept
        made = np.swapaxes(grad, 0, 1).reshape(outputs, len(rows)) @ rows
        return _channels_second(made.reshape(outputs, *places, shape[1]))
    columns = columns_of(input, places, size, stride, padding, dilation, groups) if kept is None else kept
    slopes = grad.reshape(len(grad), groups, outputs // groups, prod(size))
    made = np.zeros((groups, outputs // groups, columns.shape[2]), grad.dtype)
    for chunk in _chunks(len(grad), made.nbytes):
        made += np.matmul(slopes[chunk], columns[chunk].swapaxes(-1, -2)).sum(0)
    return made.reshape(shape)


@kernel
@keeps_channels_last
def convolution_transposed(
    input: Any, weight: Any, bias: Any = None, size: Sizes = (), stride: Sizes = (), padding: Sizes = (), dilation: Sizes = (),
    groups: int = 1,
) -> Any:  # fmt: skip
    turned = weight.swapaxes(0, 1)
    if max(padding) <= 2 and _by_winograd(input, turned.shape, size, stride, dilation, groups):
        made = winograd.convolve(input, turned[:, :, ::-1, ::-1], [2 - p for p in padding])
    else:
        reach = [n + 2 * p for n, p in zip(size, padding, strict=True)]
        if _one_channel_each(weight, groups):
            whole = depthwise.spread(input, weight, reach, stride, dilation, groups)
        elif _by_rows(weight.shape, groups):
            whole = _folded_rows(input, weight, reach, stride, dilation)
        else:
            whole = _folded_columns(input, weight, reach, stride, dilation, groups)
        made = np.ascontiguousarray(whole[(..., *(slice(p, p + n) for p, n in zip(padding, size, strict=True)))])
    if bias is not None:
        made += bias.reshape(-1, *(1,) * len(size))
    return made


def _by_winograd(input: Any, shape: Sizes, size: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> bool:
    return (tuple(shape[2:]) == (3, 3) and groups == 1 and max(stride) == max(dilation) == 1 and not _EXACT
            and winograd.suits(input.shape, shape, size, input.dtype))  # fmt: skip


def _by_rows(shape: Sizes, groups: int) -> bool:
    return groups == 1 and shape[1] >= _ROWS_FROM and prod(shape[2:]) > 1


def _one_channel_each(weight: Any, groups: int) -> bool:
    return groups > 1 and weight.shape[1] == 1


def _keep(workspace: Any, windows: Any, input: Any) -> None:
    if workspace is not None and windows.nbytes <= _KEEP * input.nbytes and windows.dtype.kind != "c":  # gradients conjugate
        workspace["windows"] = windows


# --- windows ------------------------------------------------------------------------------------------------------


def output_size(given: Sizes, places: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, ...]:
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                 for n, k, s, p, d in zip(given, places, stride, padding, dilation, strict=True))  # fmt: skip


def _rows(input: Any, places: Sizes, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """The windows as ``(window, place and channel)``."""
    batch, channels, *space = input.shape
    made = np.zeros((batch, *(n + 2 * p for n, p in zip(space, padding, strict=True)), channels), input.dtype)
    inside = tuple(slice(p, p + n) for p, n in zip(padding, space, strict=True))
    made[(slice(None), *inside)] = np.moveaxis(input, 1, -1)
    first, *steps, last = made.strides
    along = [step * s for step, s in zip(steps, stride, strict=True)]
    within = [step * d for step, d in zip(steps, dilation, strict=True)]
    windows = as_strided(made, (batch, *size, *places, channels), (first, *along, *within, last))
    return windows.reshape(batch * prod(size), prod(places) * channels)


def columns_of(input: Any, places: Sizes, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    """The windows as ``(image, group, channel and place, window)``."""
    batch, channels = input.shape[:2]
    shape = (batch, groups, channels // groups * prod(places), prod(size))
    if prod(places) == 1 and max(stride) == 1 and not any(padding):
        return input.reshape(shape)
    input = _padded(input, padding)
    first, second, *steps = input.strides
    along = [step * s for step, s in zip(steps, stride, strict=True)]
    within = [step * d for step, d in zip(steps, dilation, strict=True)]
    windows = as_strided(input, (batch, channels, *places, *size), (first, second, *within, *along))
    return windows.reshape(shape)


def _padded(input: Any, padding: Sizes) -> Any:
    if not any(padding):
        return input
    made = np.zeros((*input.shape[:2], *(n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True))), input.dtype)
    made[(..., *(slice(p, p + n) for p, n in zip(padding, input.shape[2:], strict=True)))] = input
    return made


def _spots(place: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Any, ...]:
    """An index of the elements that one place in the window meets."""
    steps = (slice(p * d, p * d + (n - 1) * s + 1, s) for p, n, s, d in zip(place, size, stride, dilation, strict=True))
    return (..., *steps)


def fold(target: Any, columns: Any, places: Sizes, stride: Sizes, dilation: Sizes) -> None:
    """Add every column to the window that it is of."""
    size = columns.shape[2 + len(places) :]
    for place in product(*map(range, places)):
        target[_spots(place, size, stride, dilation)] += columns[(slice(None), slice(None), *place)]


def _folded_columns(input: Any, weight: Any, reach: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    batch, places, channels = len(input), weight.shape[2:], weight.shape[1] * groups
    made = np.zeros((batch, channels, *reach), input.dtype)
    slopes = input.reshape(batch, groups, input.shape[1] // groups, prod(input.shape[2:]))
    turned = _as_columns(weight, groups).swapaxes(-1, -2)
    for chunk in _chunks(batch, channels * prod(places) * slopes.shape[-1] * input.itemsize):
        columns = np.matmul(turned, slopes[chunk])
        fold(made[chunk], columns.reshape(len(columns), channels, *places, *input.shape[2:]), places, stride, dilation)
    return made


def _folded_rows(input: Any, weight: Any, reach: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    batch, places, channels, size = len(input), weight.shape[2:], weight.shape[1], input.shape[2:]
    made = np.zeros((batch, *reach, channels), input.dtype)
    weights = _as_rows(weight)
    for chunk in _chunks(batch, prod(size) * weights.shape[1] * input.itemsize):
        slopes = np.moveaxis(input[chunk], 1, -1)
        rows = (slopes.reshape(-1, len(weight)) @ weights).reshape(*slopes.shape[:-1], *places, channels)
        _fold_rows(made[chunk], rows, stride, dilation)
    return np.moveaxis(made, -1, 1)


def _fold_rows(target: Any, rows: Any, stride: Sizes, dilation: Sizes) -> None:
    """Add ``rows``, ``(image, *window, *place, channel)``, to the windows of ``target`` that they are of."""
    dims = len(stride)
    size, places = rows.shape[1 : dims + 1], rows.shape[dims + 1 : -1]
    if dilation[-1] == 1 and rows.shape[-1] < _FEW and size[-1] < _SHORT:
        _fold_lines(target, rows, stride, dilation)
        return
    for place in product(*map(range, places)):
        target[(slice(None), *_spots(place, size, stride, dilation)[1:])] += rows[(..., *place, slice(None))]


def _fold_lines(target: Any, rows: Any, stride: Sizes, dilation: Sizes) -> None:
    """The same, window by window along the last dimension: a line of places and their channels lies in one piece in both.

    That takes more calls, but each adds longer runs, which pays where the channels are few.
    """
    outer = len(stride) - 1
    size, places, line = rows.shape[1 : outer + 1], rows.shape[outer + 2 : -2], rows.shape[-2]
    for place in product(*map(range, places)):
        spots = _spots(place, size, stride[:-1], dilation[:-1])[1:]
        for window in range(rows.shape[outer + 1]):
            first = window * stride[-1]
            target[(slice(None), *spots, slice(first, first + line))] += rows[(slice(None),) * (outer + 1) + (window, *place)]


def _as_rows(weight: Any) -> Any:
    """``(output, place and channel)``."""
    return np.moveaxis(weight, 1, -1).reshape(len(weight), prod(weight.shape[1:]))


def _as_columns(weight: Any, groups: int) -> Any:
    """``(group, output in the group, channel and place)``."""
    return weight.reshape(groups, len(weight) // groups, prod(weight.shape[1:]))


def _channels_second(array: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(array, -1, 1))


def _chunks(length: int, nbytes: int) -> Iterator[slice]:
    """Slices of ``length`` items of ``nbytes`` each that fit in the cache together."""
    step = max(1, _CACHE // max(nbytes, 1))
    return (slice(start, start + step) for start in range(0, length, step))
