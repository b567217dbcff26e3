"""Convolution of 3 x 3 windows with a quarter of the multiplications.

Lavin & Gray (2016), "Fast algorithms for convolutional neural networks", after S. Winograd.  The image is cut into tiles of
6 x 6 that give 4 x 4 results each.  Tiles and weights are transformed; 36 products of
matrices, one for each place in a tile, take the place of the convolution; and their results are transformed back.
Transforms are products with small matrices, too.  A few tiles are worked on at a time, in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

__all__ = ["convolve", "suits", "weight_gradient"]

Sizes = Sequence[int]

_TILE = np.array([[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0],
                  [0, 4, 0, -5, 0, 1]], np.float32)  # fmt: skip
_WEIGHT = np.array([[1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6], [1 / 24, 1 / 12, 1 / 6],
                    [1 / 24, -1 / 12, 1 / 6], [0, 0, 1]], np.float32)  # fmt: skip
_RESULT = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]], np.float32)
_TILE2, _WEIGHT2, _RESULT2 = (np.kron(each, each) for each in (_TILE, _WEIGHT, _RESULT))  # both dimensions at once
_CACHE = 1 << 21  # bytes of transformed tiles at a time


def suits(shape: Sizes, weight_shape: Sizes, size: Sizes, dtype: Any) -> bool:
    """Whether this way is likely to be the faster one, for windows next to each other."""
    tiles = shape[0] * -(-size[0] // 4) * -(-size[1] // 4)
    return dtype == np.float32 and min(weight_shape[:2]) >= 16 and tiles >= 32 and min(size) >= 4


def _chunks(batch: int, nbytes: int) -> Iterator[slice]:
    step = max(1, _CACHE // nbytes)
    return (slice(start, min(start + step, batch)) for start in range(0, batch, step))


def _padded(images: Any, padding: Sizes, tiles: Sizes) -> Any:
    """The images, channels last, with room for whole tiles."""
    batch, channels, height, width = images.shape
    made = np.zeros((batch, *(4 * n + 2 for n in tiles), channels), np.float32)
    made[:, padding[0] : padding[0] + height, padding[1] : padding[1] + width] = images.transpose(0, 2, 3, 1)
    return made


def _input_tiles(images: Any, padding: Sizes, tiles: Sizes) -> Any:
    """Transformed tiles: ``(36, tile, channel)``."""
    padded = _padded(images, padding, tiles)
    sample, row, column, channel = padded.strides
    shape = (6, 6, len(images), *tiles, images.shape[1])
    view = as_strided(padded, shape, (row, column, sample, 4 * row, 4 * column, channel))
    return (_TILE2 @ view.reshape(36, -1)).reshape(36, -1, images.shape[1])


def convolve(input: Any, weight: Any, padding: Sizes) -> Any:
    """The convolution of stride 1 of float32 images with a weight ``(outputs, channels, 3, 3)``."""
    batch, channels, *space = input.shape
    outputs = len(weight)
    size = [n + 2 * p - 2 for n, p in zip(space, padding, strict=True)]
    tiles = [-(-n // 4) for n in size]
    weights = (_WEIGHT2 @ weight.reshape(-1, 9).T).reshape(36, outputs, channels).swapaxes(1, 2)
    made = np.empty((batch, outputs, *size), np.float32)
    for chunk in _chunks(batch, 144 * tiles[0] * tiles[1] * max(channels, outputs)):
        products = np.matmul(_input_tiles(input[chunk], padding, tiles), weights)
        results = (_RESULT2 @ products.reshape(36, -1)).reshape(4, 4, -1, *tiles, outputs)
        whole = np.empty((results.shape[2], tiles[0], 4, tiles[1], 4, outputs), np.float32)
        whole[...] = results.transpose(2, 3, 0, 4, 1, 5)
        whole = whole.reshape(-1, 4 * tiles[0], 4 * tiles[1], outputs)
        made[chunk] = whole[:, : size[0], : size[1]].transpose(0, 3, 1, 2)
    return made


def weight_gradient(grad: Any, input: Any, padding: Sizes) -> Any:
    """The gradient of the weight, given that of the result."""
    batch, outputs, *size = grad.shape
    channels = input.shape[1]
    tiles = [-(-n // 4) for n in size]
    total = np.zeros((36, channels, outputs), np.float32)
    for chunk in _chunks(batch, 36 * tiles[0] * tiles[1] * max(channels, outputs)):
        count = len(grad[chunk])
        slopes = np.zeros((count, 4 * tiles[0], 4 * tiles[1], outputs), np.float32)
        slopes[:, : size[0], : size[1]] = grad[chunk].transpose(0, 2, 3, 1)
        apart = slopes.reshape(count, tiles[0], 4, tiles[1], 4, outputs).transpose(2, 4, 0, 1, 3, 5)
        transformed = (_RESULT2.T @ apart.reshape(16, -1)).reshape(36, -1, outputs)
        total += np.matmul(_input_tiles(input[chunk], padding, tiles).swapaxes(1, 2), transformed)
    made = _WEIGHT2.T @ total.reshape(36, -1)
    return np.ascontiguousarray(made.reshape(3, 3, channels, outputs).transpose(3, 2, 0, 1))
