"""Pooling by one strided view per kernel element; small inputs use a single `take` of all windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial, reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from flambeau.operations import pooling
from flambeau.operations.pooling import adaptive_windows

from .chunks import split
from .kernels import KERNELS, kernel
from .layout import channels_second, has_channels_last, keeps_channels_last
from .namespace import namespace
from .pool_indices import MANY, places_of_maxima
from .threads import LARGE, parts, share
from .windows import Sizes, inside

_CACHE = 1 << 18  # number of input elements processed at a time
_SMALL_SIZE = 1 << 13  # number of elements of all windows up to which `take` is faster than views


def _padded(input: Any, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes, value: Any) -> Any:
    """Pad the input with `value` so that every window fits."""
    amounts = _padding_amounts(input.shape[2:], window, stride, padding, dilation, size)
    return input if amounts is None else np.pad(input, amounts, constant_values=value)


@lru_cache(64)
def _padding_amounts(space: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    """Return the numbers of elements to add before and after each dimension of the input; None if no padding is needed."""
    after = [
        max((o - 1) * s + d * (k - 1) + 1 - n - p, 0)
        for o, k, s, p, d, n in zip(size, window, stride, padding, dilation, space, strict=True)
    ]
    return ((0, 0), (0, 0), *zip(padding, after, strict=True)) if any(padding) or any(after) else None


@lru_cache(64)
def _along(dim: int, k: int, s: int, d: int, n: int) -> tuple[tuple[slice, ...], ...]:
    """Return, for each of `k` kernel elements, the index of the elements under it in all `n` windows along `dim`."""
    return tuple((*(slice(None),) * dim, slice(p * d, p * d + (n - 1) * s + 1, s)) for p in range(k))


def _combined(combine: Callable[..., Any], places: Sequence[Any], out: Any = None) -> Any:
    """Reduce the views of all kernel elements to one array (`out` if given) by the ufunc `combine`."""
    if len(places) == 1:
        if out is None:
            return places[0]
        np.copyto(out, places[0])
        return out
    result = combine(places[0], places[1], out=out)
    for place in places[2:]:
        combine(result, place, out=result)
    return result


def _pool(
    combine: Callable[..., Any], out: Any, images: Any, window_size: Sizes, stride: Sizes, dilation: Sizes, size: Sizes
) -> None:
    """Reduce each window by the ufunc `combine`, one dimension at a time, and write the results to `out`."""
    last = images.ndim - 1
    for dim, geometry in enumerate(zip(window_size, stride, dilation, size, strict=True), 2):
        places = [images[index] for index in _along(dim, *geometry)]
        images = _combined(combine, places, out if dim == last else None)


def _by_parts(compute: Callable[..., None], result: Any, *arrays: Any) -> Any:
    """Fill `result` by calling `compute(out, *parts)` for parts of the batch, and return it."""
    batch, elements = len(result), max(array.size for array in (result, *arrays))
    if elements <= _CACHE:
        compute(result, *arrays)
        return result
    pays = elements >= LARGE
    slices = parts(batch, _CACHE * batch // elements, pays)
    share(lambda part: compute(result[part], *(array[part] for array in arrays)), slices, pays)
    return result


def _empty(images: Any, size: Sizes) -> Any:
    """Allocate an output with the memory order (row-major or channels-last) of the images."""
    batch, channels = images.shape[:2]
    if has_channels_last(images):
        return channels_second(np.empty((batch, *size, channels), images.dtype))
    return np.empty((batch, channels, *size), images.dtype)


@lru_cache(64)
def _cached_window_indices(shape: Sizes, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    """Return flat indices `(*kernel, image, channel, *output)`; None if there are too many, or if windows include padding."""
    if not 0 < prod(shape[:2]) * prod(size) * prod(window_size) <= _SMALL_SIZE:
        return None
    if _padding_amounts(shape[2:], window_size, stride, padding, dilation, size) is not None:
        return None
    elements = np.arange(prod(shape)).reshape(shape)
    steps = [_along(dim, *geometry) for dim, geometry in enumerate(zip(window_size, stride, dilation, size, strict=True), 2)]
    places = [reduce(lambda array, index: array[index], place, elements) for place in product(*steps)]
    return np.stack(places).reshape(*window_size, *shape[:2], *size)


# --- maxima -------------------------------------------------------------------------------------------------------


def _max_pool(input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    places = _cached_window_indices(input.shape, window_size, stride, padding, dilation, size)
    if places is not None:
        return np.maximum.reduce(input.take(places), tuple(range(len(size))))
    lowest = -np.inf if input.dtype.kind in "fV" else np.iinfo(input.dtype).min

    def compute(out: Any, images: Any) -> None:
        images = _padded(images, window_size, stride, padding, dilation, size, lowest)
        _pool(np.maximum, out, images, window_size, stride, dilation, size)

    return _by_parts(compute, _empty(input, size), input)


_max_pool_of_images = keeps_channels_last(_max_pool)
KERNELS.update(max_pool1d=_max_pool, max_pool2d=_max_pool_of_images, max_pool3d=_max_pool_of_images)
KERNELS["max_pool_indices"] = keeps_channels_last(partial(pooling.max_pool_indices_forward, namespace))


@kernel
def max_pool_backward(g: Any, input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    """Add each window's gradient to the first element that equals the window's maximum."""
    geometry = window_size, stride, padding, dilation, size
    apart = prod(window_size) >= MANY and stride == window_size and max(dilation) == 1
    if apart and g.size and _padding_amounts(input.shape[2:], *geometry) is None:
        return _scatter_to_maxima(g, input, window_size, size)
    windows = [*enumerate(zip(window_size, stride, dilation, size, strict=True), 2)]

    def compute(out: Any, g: Any, images: Any) -> None:
        if images.dtype.itemsize == 2:
            images = images.astype(np.float32)  # NumPy compares float32 much faster than half precision
        if np.isnan(images.max()):
            out[...] = _at_indices(g, images, *geometry)
            return
        padded = _padded(images, *geometry, np.nan)
        gradient = out if padded is images else np.empty(padded.shape, g.dtype)
        _to_first_maximum(gradient, g, padded, windows)
        if gradient is not out:
            out[...] = gradient[inside(input.shape[2:], padding)]

    return _by_parts(compute, np.empty(input.shape, g.dtype), g, input) if g.size else np.zeros(input.shape, g.dtype)


def _scatter_to_maxima(g: Any, input: Any, window_size: Sizes, size: Sizes) -> Any:
    """Add the gradients of non-overlapping windows at the positions of their maxima."""
    windows = [(np.arange(n) * k, np.arange(n) * k + (k - 1)) for k, n in zip(window_size, size, strict=True)]
    places = places_of_maxima(input, windows).reshape(prod(g.shape[:2]), -1)
    places += np.arange(len(places))[:, None] * prod(input.shape[2:])
    gradient = np.zeros(input.shape, g.dtype)
    gradient.reshape(-1)[places] = g.reshape(places.shape)
    return gradient


@kernel
def adaptive_max_indices(input: Any, sizes: Sizes) -> Any:
    space = input.shape[input.ndim - len(sizes) :]
    return places_of_maxima(input, [_divided(length, count) for length, count in zip(space, sizes, strict=True)])


@lru_cache(64)
def _divided(length: int, count: int) -> tuple[Any, Any]:
    """Return first and last positions of windows that divide a dimension; the arrays are cached, do not write to them."""
    windows = np.array(adaptive_windows(length, count), np.int64).reshape(-1, 2)
    return windows[:, 0].copy(), windows[:, 1] - 1


def _to_first_maximum(out: Any, g: Any, images: Any, windows: Sequence[tuple[int, tuple[int, ...]]]) -> None:
    """Write the gradient of `images` to `out`, given the gradients of their windows' maxima.

    Maxima are computed over the last dimension first, so that among equal elements the first in row-major order is selected.
    Padding is NaN, which never equals a maximum.
    """
    *outer, (dim, (k, s, d, n)) = windows
    spots = _along(dim, k, s, d, n)
    places = [np.ascontiguousarray(images[spot]) for spot in spots]  # NumPy is much faster on contiguous arrays
    best = _combined(np.fmax, places)
    if outer:
        gradient = np.empty(best.shape, g.dtype)
        _to_first_maximum(gradient, g, best, outer)
        g = gradient
    disjoint = s > d * (k - 1)  # windows do not overlap
    if not disjoint or images.shape[dim] != n * k:
        out[...] = 0
    for spot, given in zip(spots, _split_gradient(g, places, best), strict=True):
        if disjoint:
            out[spot] = given
        else:
            out[spot] += given


def _split_gradient(g: Any, places: Sequence[Any], best: Any) -> Iterator[Any]:
    """Yield, for each kernel element, the gradients of the windows in which it is the first maximum."""
    for place in places[:-1]:
        given, g = split(place == best, g)
        yield given
    yield g  # the remaining gradients belong to the last kernel element


def _at_indices(g: Any, input: Any, *geometry: Any) -> Any:
    indices = pooling.max_pool_indices_forward(namespace, input, *geometry).reshape(-1, g[0, 0].size)
    gradient = np.zeros((len(indices), input[0, 0].size), g.dtype)
    np.add.at(gradient, (np.arange(len(indices))[:, None], indices), g.reshape(indices.shape))
    return gradient.reshape(input.shape)


# --- means --------------------------------------------------------------------------------------------------------


@lru_cache(64)
def _window_sizes(*geometry: Any) -> Any:
    """Return `pooling.window_sizes` from a cache; do not write to the array."""
    sizes = pooling.window_sizes(np, *geometry)
    dtype = geometry[-1]
    return sizes if dtype.kind in "iu" else np.asarray(sizes, dtype)  # an array divides faster than a Python number


def _avg_pool(
    input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, size: Sizes, count_padding: bool, divisor: int | None
) -> Any:
    ones = (1,) * len(size)
    places = _cached_window_indices(input.shape, window_size, stride, padding, ones, size)
    if places is not None:
        sums = input.take(places)
        for _ in size:
            sums = _combined(np.add, sums)
    else:

        def compute(out: Any, images: Any) -> None:
            images = _padded(images, window_size, stride, padding, ones, size, 0)
            _pool(np.add, out, images, window_size, stride, ones, size)

        sums = _by_parts(compute, _empty(input, size), input)
    counts = _window_sizes(input.shape[2:], window_size, stride, padding, size, count_padding, divisor, input.dtype)
    if input.dtype.kind not in "iu":
        return sums / counts
    quotient = abs(sums) // abs(counts)
    return np.where((sums < 0) != (counts < 0), -quotient, quotient)  # round towards zero


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
    counts = _window_sizes(space, window_size, stride, padding, size, count_padding, divisor, input.dtype)
    reach = [max(n + 2 * p, (o - 1) * s + k) for n, p, o, s, k in zip(space, padding, size, stride, window_size, strict=True)]

    def compute(out: Any, grads: Any) -> None:
        shares = grads / counts
        gradient = np.zeros((*grads.shape[:2], *reach), input.dtype)
        for place in product(*map(range, window_size)):
            gradient[(..., *(slice(p, p + (n - 1) * s + 1, s) for p, n, s in zip(place, size, stride, strict=True)))] += shares
        out[...] = gradient[inside(space, padding)]

    return _by_parts(compute, np.empty((*input.shape[:2], *space), input.dtype), input)
