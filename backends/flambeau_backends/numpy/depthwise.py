"""Convolution in groups of one channel: shifted images, scaled and summed.

Rows are kept as long as those of the padded input, so that a shift in any dimension is one along flat memory; what is computed
at the ends of the rows is cut away.  With a stride, or several outputs for a channel, windows are taken as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

__all__ = ["convolve", "spread", "weight_gradient"]

Sizes = Sequence[int]

_CACHE = 1 << 15  # elements that are worked on at a time


def _places(places: Sizes, space: Sizes, dilation: Sizes) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every place in the window, and how far along flat memory of images of shape ``space`` it shifts."""
    steps = [prod(space[dim + 1 :]) * d for dim, d in enumerate(dilation)]
    for place in product(*map(range, places)):
        yield place, sum(p * step for p, step in zip(place, steps, strict=True))


def _flat(array: Any) -> Any:
    return array.reshape(*array.shape[:2], prod(array.shape[2:]))


def _chunks(images: Any) -> Iterator[slice]:
    step = max(1, _CACHE * len(images) // max(images.size, 1))
    return (slice(start, start + step) for start in range(0, len(images), step))


def _is_plain(weight_shape: Sizes, stride: Sizes, groups: int) -> bool:
    return max(stride) == 1 and weight_shape[0] == groups


def _in_long_rows(array: Any, space: Sizes) -> Any:
    """The array with zeros behind each row, up to the length of the rows of ``space``."""
    made = np.zeros((*array.shape[:3], *space[1:]), array.dtype)
    made[(..., *(slice(0, n) for n in array.shape[2:]))] = array
    return made


def _spots(place: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Any, ...]:
    steps = (slice(p * d, p * d + (n - 1) * s + 1, s) for p, n, s, d in zip(place, size, stride, dilation, strict=True))
    return (..., *steps)


def _scales(weight: Any, groups: int, place: Sizes) -> Any:
    """One place of the weights, in the shape that scales ``(image, group, output of the group, *space)``."""
    return weight[(slice(None), 0, *place)].reshape(groups, -1, *(1,) * len(place))


# --- forward ------------------------------------------------------------------------------------------------------


def convolve(padded: Any, weight: Any, size: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    """The convolution of a padded input."""
    if not _is_plain(weight.shape, stride, groups):
        return _convolve_windows(padded, weight, size, stride, dilation, groups)
    space = padded.shape[2:]
    made = np.zeros((*padded.shape[:2], size[0], *space[1:]), padded.dtype)
    images, target = _flat(padded), _flat(made)
    for chunk in _chunks(images):
        for place, shift in _places(weight.shape[2:], space, dilation):
            length = min(target.shape[2], images.shape[2] - shift)
            target[chunk, :, :length] += images[chunk, :, shift : shift + length] * weight[(slice(None), 0, *place, None)]
    return np.ascontiguousarray(made[(..., *(slice(0, n) for n in size))])


def _convolve_windows(padded: Any, weight: Any, size: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    images = padded[:, :, None]
    made = np.zeros((len(padded), groups, len(weight) // groups, *size), padded.dtype)
    for chunk in _chunks(padded):
        for place in product(*map(range, weight.shape[2:])):
            made[chunk] += images[chunk][_spots(place, size, stride, dilation)] * _scales(weight, groups, place)
    return made.reshape(len(padded), len(weight), *size)


# --- gradients ----------------------------------------------------------------------------------------------------


def spread(grad: Any, weight: Any, space: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    """The gradient of the padded input, whose shape is ``space``."""
    made = np.zeros((len(grad), groups, *space), grad.dtype)
    if not _is_plain(weight.shape, stride, groups):
        _spread_windows(made, grad, weight, stride, dilation, groups)
        return made
    slopes, target = _flat(_in_long_rows(grad, space)), _flat(made)
    for chunk in _chunks(target):
        for place, shift in _places(weight.shape[2:], space, dilation):
            length = min(slopes.shape[2], target.shape[2] - shift)
            target[chunk, :, shift : shift + length] += slopes[chunk, :, :length] * weight[(slice(None), 0, *place, None)]
    return made


def _spread_windows(target: Any, grad: Any, weight: Any, stride: Sizes, dilation: Sizes, groups: int) -> None:
    size = grad.shape[2:]
    slopes = grad.reshape(len(grad), groups, len(weight) // groups, *size)
    for chunk in _chunks(grad):
        for place in product(*map(range, weight.shape[2:])):
            target[chunk][_spots(place, size, stride, dilation)] += (slopes[chunk] * _scales(weight, groups, place)).sum(2)


def weight_gradient(grad: Any, padded: Any, shape: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    """The gradient of the weight, given that of the result."""
    size, space = grad.shape[2:], padded.shape[2:]
    made = np.zeros((groups, shape[0] // groups, *shape[2:]), grad.dtype)
    grad = grad.conj()  # as vecdot does again
    if _is_plain(shape, stride, groups):
        slopes, images = _flat(_in_long_rows(grad, space)), _flat(padded)
        for chunk in _chunks(images):
            for place, shift in _places(shape[2:], space, dilation):
                length = min(slopes.shape[2], images.shape[2] - shift)
                products = np.vecdot(slopes[chunk, :, :length], images[chunk, :, shift : shift + length])
                made[(slice(None), 0, *place)] += products.sum(0)
        return made.reshape(shape)
    windows = grad.reshape(len(grad), groups, shape[0] // groups, prod(size))
    for chunk in _chunks(grad):
        for place in product(*map(range, shape[2:])):
            seen = padded[chunk][_spots(place, size, stride, dilation)]
            made[(..., *place)] += np.vecdot(windows[chunk], _flat(seen)[:, :, None]).sum(0)
    return made.reshape(shape)
