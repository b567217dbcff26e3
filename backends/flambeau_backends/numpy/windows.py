"""Windows on images: how they lie, and how much of them is worked on at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from .threads import HEAVY, SMALL_PRODUCT, parts, share

__all__ = ["Geometry", "Sizes", "geometry", "inside", "output_size", "padded", "padded_size", "spots", "strided", "total"]

Sizes = Sequence[int]

_CACHE = 1 << 18  # elements of windows that are worked on at a time
_SHARED = 1 << 20  # where threads share the work: the more calls, the more often one has to wait for another


@dataclass(frozen=True)
class Geometry:
    """How the windows of a convolution lie, with an entry for each dimension of space, and what they are multiplied by."""

    batch: int  # images
    shape: Sizes  # of the weight: (output, channel in the group, *place)
    size: Sizes  # how many windows
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int = 1

    @cached_property
    def places(self) -> Sizes:
        return self.shape[2:]

    @cached_property
    def is_plain(self) -> bool:
        """Whether each element is a window of its own."""
        return prod(self.places) == max(self.stride) == 1 and not any(self.padding)

    @cached_property
    def elements(self) -> int:
        """How many elements the windows on an image have."""
        return self.groups * prod(self.shape[1:]) * prod(self.size)

    @cached_property
    def is_heavy(self) -> bool:
        """Whether there are more weights than elements of all windows."""
        return prod(self.shape) > self.batch * self.elements

    @cached_property
    def multiplications(self) -> int:
        return self.batch * self.elements * self.shape[0] // self.groups

    @property
    def pays(self) -> bool:
        """Whether several threads are worth it."""
        return self.multiplications >= HEAVY

    @property
    def parts(self) -> list[slice]:
        """Parts of the batch whose windows stay in the cache, though no fewer than make it worth going through the weights."""
        most = max(_SHARED if self.pays else _CACHE, prod(self.shape))
        return parts(self.batch, most // max(self.elements, 1), self.pays)

    def share(self, compute: Callable[[Any], Any], todo: Sequence[Any]) -> list[Any]:
        """What `compute` returns for each of these parts, in order, from several threads where they are worth it."""
        if self.multiplications <= SMALL_PRODUCT:
            return [compute(each) for each in todo]
        return share(compute, todo, self.pays)


geometry = lru_cache(256)(Geometry)  # what has been found out about one is kept


@lru_cache(256)
def output_size(given: Sizes, places: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, ...]:
    """How many windows there are."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(given, places, stride, padding, dilation, strict=True)
    )


def padded_size(space: Sizes, padding: Sizes) -> tuple[int, ...]:
    return tuple(n + 2 * p for n, p in zip(space, padding, strict=True))


def inside(space: Sizes, padding: Sizes) -> tuple[Any, ...]:
    """An index of what is not padding."""
    return (..., *(slice(p, p + n) for p, n in zip(padding, space, strict=True)))


def padded(images: Any, padding: Sizes) -> Any:
    """The images with zeros around; themselves where there is no padding."""
    if not any(padding):
        return images
    space = images.shape[2:]
    made = np.zeros((*images.shape[:2], *padded_size(space, padding)), images.dtype)
    made[inside(space, padding)] = images
    return made


def strided(array: Any, shape: Sizes, strides: Sizes) -> Any:
    """`as_strided`, without its cost where the array is contiguous."""
    if array.flags.c_contiguous:
        return np.ndarray(tuple(shape), array.dtype, array, 0, tuple(strides))
    return np.lib.stride_tricks.as_strided(array, shape, strides)


def spots(place: Sizes, g: Geometry) -> tuple[Any, ...]:
    """An index of the elements that one place in the window meets."""
    steps = (slice(p * d, p * d + (n - 1) * s + 1, s) for p, n, s, d in zip(place, g.size, g.stride, g.dilation, strict=True))
    return (..., *steps)


def total(arrays: Sequence[Any]) -> Any:
    """The sum of arrays that nobody else needs."""
    made = arrays[0]
    for each in arrays[1:]:
        made += each
    return made
