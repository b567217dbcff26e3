"""Pooling by strided views: one for each place in the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from flambeau.operations import pooling

from .kernels import KERNELS, kernel
from .layout import keeps_channels_last
from .namespace import namespace
from .pieces import select
from .threads import LARGE, parts, share
from .windows import Sizes, inside

_CACHE = 1 << 16  # elements of the input that are worked on at a time


def _padded(input: Any, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes, value: Any) -> Any:
    """The input with room for every window to fit."""
    after = [
        max((o - 1) * s + d * (k - 1) + 1 - n - p, 0)
        for o, k, s, p, d, n in zip(size, window, stride, padding, dilation, input.shape[2:], strict=True)
    ]
    if not any(padding) and not any(after):
        return input
    return np.pad(input, ((0, 0), (0, 0), *zip(padding, after, strict=True)), constant_values=value)


@lru_cache(64)
def _along(dim: int, k: int, s: int, d: int, n: int) -> tuple[tuple[slice, ...], ...]:
    """For each of the `k` places of `n` windows, an index of the elements that it meets along a dimension."""
    return tuple((*(slice(None),) * dim, slice(p * d, p * d + (n - 1) * s + 1, s)) for p in range(k))


def _combined(combine: Callable[..., Any], places: Sequence[Any]) -> Any:
    """What is at each place of the windows, combined."""
    made = places[0] if len(places) == 1 else combine(places[0], places[1])
    for each in places[2:]:
        combine(made, each, out=made)
    return made


def _pooled(combine: Callable[..., Any], images: Any, window_size: Sizes, stride: Sizes, dilation: Sizes, size: Sizes) -> Any:
    """Each window's elements combined, along one dimension after the other."""
    for dim, geometry in enumerate(zip(window_size, stride, dilation, size, strict=True), 2):
        images = _combined(combine, [images[each] for each in _along(dim, *geometry)])
    return images


def _by_parts(compute: Callable[[Any], Any], shape: Sizes, *arrays: Any) -> Any:
    """An array of this shape that `compute` gives a part of, from the same part of each of the arrays."""
    batch, elements = shape[0], max(prod(shape), *(each.size for each in arrays))
    if elements <= _CACHE:
        made = compute(*arrays)
        return made if made.flags.owndata else made.copy()
    pays = elements >= LARGE
    todo = parts(batch, _CACHE * batch // elements, pays)
    made = np.empty(shape, arrays[0].dtype)

    def compute_part(part: slice) -> None:
        made[part] = compute(*(each[part] for each in arrays))

    share(compute_part, todo, pays)
    return made


# --- maxima -------------------------------------------------------------------------------------------------------


def _max_pool(input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    lowest = -np.inf if input.dtype.kind in "fV" else np.iinfo(input.dtype).min

    def compute(images: Any) -> Any:
        images = _padded(images, window_size, stride, padding, dilation, size, lowest)
        return _pooled(np.maximum, images, window_size, stride, dilation, size)

    return _by_parts(compute, (*input.shape[:2], *size), input)


_max_pool_of_images = keeps_channels_last(_max_pool)
KERNELS.update(max_pool1d=_max_pool, max_pool2d=_max_pool_of_images, max_pool3d=_max_pool_of_images)
KERNELS["max_pool_indices"] = keeps_channels_last(partial(pooling.max_pool_indices_forward, namespace))


@kernel
def max_pool_backward(g: Any, input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    """Each gradient to the first element that equals the maximum."""
    geometry = window_size, stride, padding, dilation, size
    dims = *range(len(size) - 1), len(size) + 1
    windows = [*zip(dims, window_size, stride, dilation, size, strict=True)]

    def compute(g: Any, images: Any) -> Any:
        if np.isnan(images.max()):
            return _at_indices(g, images, *geometry)
        made = _to_first_maximum(_rows_first(g), _rows_first(_padded(images, *geometry, np.nan)), windows)
        return _images_first(made)[inside(input.shape[2:], padding)]

    return _by_parts(compute, input.shape, g, input) if g.size else np.zeros(input.shape, g.dtype)


def _rows_first(images: Any) -> Any:
    """`(*row, image, channel, column)`: every other row, or column, of all images is then one long run, or one long stride."""
    return np.ascontiguousarray(images.transpose(*range(2, images.ndim - 1), 0, 1, images.ndim - 1))


def _images_first(rows: Any) -> Any:
    """The reverse, as a view."""
    return rows.transpose(rows.ndim - 3, rows.ndim - 2, *range(rows.ndim - 3), rows.ndim - 1)


def _to_first_maximum(g: Any, images: Any, windows: Sequence[tuple[int, ...]]) -> Any:
    """The gradient of `images`, given those of the maxima of their windows.

    Maxima are taken over the last dimension first: the first of equal ones is that in the first row, and there the first.
    Nothing equals the NaN of the padding.
    """
    if not windows:
        return g
    *outer, (dim, k, s, d, n) = windows
    spots = _along(dim, k, s, d, n)
    places = [images[each] for each in spots]
    if images.strides[-1] != places[0].strides[-1]:
        places = [each.copy() for each in places]  # NumPy compares much faster what lies together
    best = _combined(np.fmax, places)
    g = _to_first_maximum(g, best, outer)
    apart = s > d * (k - 1)  # whether no element is in two windows
    made = (np.empty if apart and images.shape[dim] == n * k else np.zeros)(images.shape, g.dtype)
    free = np.ones(g.shape, bool)  # windows whose maximum has not been met
    for where, place in zip(spots, places, strict=True):
        chosen = free
        if place is not places[-1]:
            chosen = (place == best) & free
            free ^= chosen
        if apart:
            made[where] = select(chosen, g)
        else:
            made[where] += select(chosen, g)
    return made


def _at_indices(g: Any, input: Any, *geometry: Any) -> Any:
    indices = pooling.max_pool_indices_forward(namespace, input, *geometry).reshape(-1, g[0, 0].size)
    made = np.zeros((len(indices), input[0, 0].size), g.dtype)
    np.add.at(made, (np.arange(len(indices))[:, None], indices), g.reshape(indices.shape))
    return made.reshape(input.shape)


# --- means --------------------------------------------------------------------------------------------------------


def _avg_pool(
    input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, size: Sizes, count_padding: bool, divisor: int | None
) -> Any:
    def compute(images: Any) -> Any:
        ones = (1,) * len(size)
        return _pooled(np.add, _padded(images, window_size, stride, padding, ones, size, 0), window_size, stride, ones, size)

    made = _by_parts(compute, (*input.shape[:2], *size), input)
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
    counts = pooling.window_sizes(np, space, window_size, stride, padding, size, count_padding, divisor, input.dtype)
    reach = [max(n + 2 * p, (o - 1) * s + k) for n, p, o, s, k in zip(space, padding, size, stride, window_size, strict=True)]

    def compute(slopes: Any) -> Any:
        shares = slopes / counts
        made = np.zeros((*slopes.shape[:2], *reach), input.dtype)
        for place in product(*map(range, window_size)):
            made[(..., *(slice(p, p + (n - 1) * s + 1, s) for p, n, s in zip(place, size, stride, strict=True)))] += shares
        return made[inside(space, padding)]

    return _by_parts(compute, (*input.shape[:2], *space), input)
