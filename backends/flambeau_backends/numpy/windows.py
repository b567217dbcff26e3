"""The geometry of convolutions, and the number of images to process at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from .threads import HEAVY, SMALL_PRODUCT, parts, share

__all__ = [
    "Geometry",
    "Sizes",
    "inside",
    "output_size",
    "padded",
    "padded_size",
    "strided",
    "total",
    "window_elements",
]  # fmt: skip

Sizes = Sequence[int]

_CACHE = 1 << 18  # number of window elements processed at a time by one thread
_SHARED = 1 << 20  # number of window elements that each of several threads processes at a time: larger parts reduce waiting


@dataclass(frozen=True)
class Geometry:
    """The sizes of a convolution: batch size, weight shape, output size, and options per dimension."""

    batch: int  # number of images
    shape: Sizes  # weight shape: (output channels, input channels per group, *kernel)
    size: Sizes  # output size
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int = 1

    @cached_property
    def places(self) -> Sizes:
        return self.shape[2:]

    @cached_property
    def is_plain(self) -> bool:
        """Whether each element is a window: a 1 x 1 kernel with stride 1 and without padding."""
        return prod(self.places) == max(self.stride) == 1 and not any(self.padding)

    @cached_property
    def is_three_by_three(self) -> bool:
        """Whether the kernel is 3 x 3, with stride, dilation and groups of 1."""
        return tuple(self.places) == (3, 3) and self.groups == max(self.stride) == max(self.dilation) == 1

    @cached_property
    def elements(self) -> int:
        """The number of elements of all windows of one image."""
        return self.groups * prod(self.shape[1:]) * prod(self.size)

    @cached_property
    def is_heavy(self) -> bool:
        """Whether the weight has more elements than the windows of all images."""
        return prod(self.shape) > self.batch * self.elements

    @cached_property
    def multiplications(self) -> int:
        return self.batch * self.elements * self.shape[0] // self.groups

    @cached_property
    def is_light(self) -> bool:
        """Whether the work is too small to be split."""
        return self.multiplications <= SMALL_PRODUCT and 0 < self.batch * self.elements <= _CACHE

    @cached_property
    def joins(self) -> bool:
        """Whether one product for all images, including copies, is faster than one per image: images have few windows."""
        rows, columns = self.shape[0] // self.groups, prod(self.shape[1:])
        return 2 * prod(self.size) * (rows + columns) < rows * columns

    @property
    def pays(self) -> bool:
        """Whether the work is large enough for several threads."""
        return self.multiplications >= HEAVY

    @property
    def parts(self) -> list[slice]:
        """Slices of the batch whose windows fit into the cache, or have at most as many elements as a larger weight."""
        if self.is_light:
            return [slice(0, self.batch)]
        most = max(_SHARED if self.pays else _CACHE, prod(self.shape))
        return parts(self.batch, most // max(self.elements, 1), self.pays)

    def share(self, compute: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Call `compute` for each part and return the results in order; uses several threads if that is faster."""
        if self.multiplications <= SMALL_PRODUCT:
            return [compute(part) for part in parts]
        return share(compute, parts, self.pays)


@lru_cache(256)
def output_size(space: Sizes, places: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, ...]:
    """Return the output size: the number of windows along each dimension."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(space, places, stride, padding, dilation, strict=True)
    )


def padded_size(space: Sizes, padding: Sizes) -> tuple[int, ...]:
    return tuple(n + 2 * p for n, p in zip(space, padding, strict=True))


def inside(space: Sizes, padding: Sizes) -> tuple[Any, ...]:
    """Return the index that selects the images without padding from padded images."""
    return (..., *(slice(p, p + n) for p, n in zip(padding, space, strict=True)))


def padded(images: Any, padding: Sizes) -> Any:
    """Pad images with zeros along the spatial dimensions; return `images` itself if all paddings are 0."""
    if not any(padding):
        return images
    space = images.shape[2:]
    result = np.zeros((*images.shape[:2], *padded_size(space, padding)), images.dtype)
    result[inside(space, padding)] = images
    return result


def strided(array: Any, shape: Sizes, strides: Sizes) -> Any:
    """Like NumPy's `as_strided`, with less overhead if the array is contiguous."""
    if array.flags.c_contiguous:
        return np.ndarray(tuple(shape), array.dtype, array, 0, tuple(strides))
    return np.lib.stride_tricks.as_strided(array, shape, strides)


def window_elements(place: Sizes, g: Geometry) -> tuple[Any, ...]:
    """Return the index of the elements under one kernel element in all windows."""
    steps = (slice(p * d, p * d + (n - 1) * s + 1, s) for p, n, s, d in zip(place, g.size, g.stride, g.dilation, strict=True))
    return (..., *steps)


def total(arrays: Sequence[Any]) -> Any:
    """Return the sum of the arrays, which overwrites the first one."""
    result = arrays[0]
    for array in arrays[1:]:
        result += array
    return result
