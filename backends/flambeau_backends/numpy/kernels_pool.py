"""Pooling by strided views: one for each place in the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from flambeau.ops import pooling

from .kernels import KERNELS, kernel
from .layout import keeps_channels_last
from .namespace import namespace

Sizes = Sequence[int]

_CACHE = 1 << 18  # elements of the input that are worked on at a time


def _spots(place: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Any, ...]:
    """An index of the elements that one place in the window meets."""
    steps = (slice(p * d, p * d + (n - 1) * s + 1, s) for p, n, s, d in zip(place, size, stride, dilation, strict=True))
    return (..., *steps)


def _padded(input: Any, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes, value: Any) -> Any:
    """The input with room for every window to fit."""
    after = [max((o - 1) * s + d * (k - 1) + 1 - n - p, 0)
             for o, k, s, p, d, n in zip(size, window, stride, padding, dilation, input.shape[2:], strict=True)]  # fmt: skip
    if not any(padding) and not any(after):
        return input
    return np.pad(input, ((0, 0), (0, 0), *zip(padding, after, strict=True)), constant_values=value)


def _one_dimension_after_the_other(
    combine: Callable[..., Any], input: Any, window: Sizes, stride: Sizes, dilation: Sizes, size: Sizes
) -> Any:
    """Combine each window's elements along one dimension, then those results along the next."""
    for dim, (k, s, d, n) in enumerate(zip(window, stride, dilation, size, strict=True), 2):
        before = (slice(None),) * dim
        parts = [input[(*before, slice(p * d, p * d + (n - 1) * s + 1, s))] for p in range(k)]
        input = parts[0] if k == 1 else combine(parts[0], parts[1])
        for part in parts[2:]:
            combine(input, part, out=input)
    return input


def _chunks(input: Any) -> Iterator[slice]:
    step = max(1, _CACHE * len(input) // max(input.size, 1))
    return (slice(start, start + step) for start in range(0, len(input), step))


# --- maxima -------------------------------------------------------------------------------------------------------


def _max_pool(input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    lowest = -np.inf if input.dtype.kind in "fV" else np.iinfo(input.dtype).min
    padded = _padded(input, window_size, stride, padding, dilation, size, lowest)
    made = _one_dimension_after_the_other(np.maximum, padded, window_size, stride, dilation, size)
    return made if made.flags.owndata else made.copy()


_max_pool_of_images = keeps_channels_last(_max_pool)
KERNELS.update(max_pool1d=_max_pool, max_pool2d=_max_pool_of_images, max_pool3d=_max_pool_of_images)
KERNELS["max_pool_indices"] = keeps_channels_last(partial(pooling.max_pool_indices_forward, namespace))


@kernel
def max_pool_backward(
    g: Any, input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes
) -> Any:
    """Each gradient to the first element that equals the maximum."""
    out = _max_pool(input, window_size, stride, padding, dilation, size)  # the result itself may have been overwritten
    if np.isnan(out).any():
        return _at_indices(g, input, window_size, stride, padding, dilation, size)
    padded = _padded(input, window_size, stride, padding, dilation, size, np.nan)  # nothing equals what is in the padding
    tiled = tuple(stride) == tuple(window_size) and padded.shape[2:] == tuple(
        n * k for n, k in zip(size, window_size, strict=True)
    )
    made = np.empty(padded.shape, g.dtype) if tiled else np.zeros(padded.shape, g.dtype)
    for part in _chunks(padded):
        free = np.ones(g[part].shape, bool)
        for place in product(*map(range, window_size)):
            spots = _spots(place, size, stride, dilation)
            chosen = padded[part][spots] == out[part]
            chosen &= free
            free ^= chosen
            if tiled:
                np.multiply(g[part], chosen, out=made[part][spots])
            else:
                made[part][spots] += g[part] * chosen
    return _cropped(made, padding, input.shape[2:])


def _cropped(padded: Any, padding: Sizes, size: Sizes) -> Any:
    inside = tuple(slice(p, p + n) for p, n in zip(padding, size, strict=True))
    return np.ascontiguousarray(padded[(..., *inside)])


def _at_indices(g: Any, input: Any, *geometry: Any) -> Any:
    indices = pooling.max_pool_indices_forward(np, input, *geometry).reshape(-1, g[0, 0].size)
    made = np.zeros((len(indices), input[0, 0].size), g.dtype)
    np.add.at(made, (np.arange(len(indices))[:, None], indices), g.reshape(indices.shape))
    return made.reshape(input.shape)


# --- means --------------------------------------------------------------------------------------------------------


def _avg_pool(
    input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, size: Sizes, count_padding: bool, divisor: int | None
) -> Any:
    ones = (1,) * len(size)
    padded = _padded(input, window_size, stride, padding, ones, size, 0)
    made = _one_dimension_after_the_other(np.add, padded, window_size, stride, ones, size)
    counts = pooling.window_sizes(np, input.shape[2:], window_size, stride, padding, size, count_padding, divisor, input.dtype)
    if input.dtype.kind not in "iu":
        return made / counts
    size = abs(made) // abs(counts)
    return np.where((made < 0) != (counts < 0), -size, size)  # rounded towards zero


_avg_pool_of_images = keeps_channels_last(_avg_pool)
KERNELS.update(avg_pool1d_windows=_avg_pool, avg_pool2d_windows=_avg_pool_of_images, avg_pool3d_windows=_avg_pool_of_images)


@kernel
def avg_pool_backward(
    input: Any,
    space: Sizes,
    window_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    size: Sizes,
    count_padding: bool,
    divisor: int | None,
) -> Any:
    ones = (1,) * len(size)
    share = input / pooling.window_sizes(np, space, window_size, stride, padding, size, count_padding, divisor, input.dtype)
    made = np.zeros((*input.shape[:2], *(max(n + 2 * p, (o - 1) * s + k) for n, p, o, s, k in zip(
        space, padding, size, stride, window_size, strict=True))), input.dtype)  # fmt: skip
    for place in product(*map(range, window_size)):
        made[_spots(place, size, stride, ones)] += share
    return _cropped(made, padding, space)
