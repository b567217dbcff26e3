"""Winograd convolution of 3 x 3 kernels, with a quarter of the multiplications.

The algorithm is that of Lavin & Gray (2016), "Fast algorithms for convolutional neural networks", after S. Winograd.  The image
is split into tiles of 6 x 6 elements, each giving 4 x 4 results.  Tiles and weights are transformed; 36 matrix products, one for
each element of a tile, replace the convolution; and their results are transformed back.  The transforms are products with small
matrices.  A few tiles are processed at a time, so that they stay in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .threads import HEAVY, LARGE, parts, share
from .windows import Sizes, strided, total

__all__ = ["convolve", "suits", "transformed", "weight_gradient"]

_TILE = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ],
    np.float32,
)
_WEIGHT = np.array(
    [
        [1 / 4, 0, 0],
        [-1 / 6, -1 / 6, -1 / 6],
        [-1 / 6, 1 / 6, -1 / 6],
        [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6],
        [0, 0, 1],
    ],
    np.float32,
)
_RESULT = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]], np.float32)
_TILE2, _WEIGHT2, _RESULT2 = (np.kron(matrix, matrix) for matrix in (_TILE, _WEIGHT, _RESULT))  # for both dimensions of a tile
_AT_ONCE = 64  # number of tiles processed at a time: more would leave the cache, fewer would make the matrices too small


def suits(batch: int, weight_shape: Sizes, size: Sizes, dtype: Any) -> bool:
    """Whether Winograd is likely to be faster than `conv_rows` and `conv_columns`, for stride 1 and this output size."""
    if weight_shape[0] < 16 or weight_shape[1] < 16 or dtype != np.float32:
        return False
    return min(size) >= 4 and batch * -(-size[0] // 4) * -(-size[1] // 4) >= 32  # tiles


def _tiles(size: Sizes) -> tuple[int, int]:
    """Return the number of rows and columns of tiles that cover an output image."""
    return -(-size[0] // 4), -(-size[1] // 4)


def _blocks(batch: int, tiles: Sizes, most: int, pays: bool) -> list[tuple[slice, slice]]:
    """Return blocks of several images, or of several rows of tiles of one image, with at most `most` tiles each."""
    if tiles[0] * tiles[1] <= most:
        return [(part, slice(0, tiles[0])) for part in parts(batch, most // (tiles[0] * tiles[1]), pays)]
    rows = parts(tiles[0], most // tiles[1], pays)
    return [(slice(image, image + 1), part) for image in range(batch) for part in rows]


def _pays(input: Any, outputs: int, tiles: Sizes) -> bool:
    """Whether the work is large enough for several threads."""
    return 36 * len(input) * tiles[0] * tiles[1] * input.shape[1] * outputs >= HEAVY


def _channels_last(images: Any, first: int, shape: Sizes, left: int = 0) -> Any:
    """Return rows of the images from `first` on, zero-padded, as `(batch, *shape, channels)`."""
    result = np.zeros((len(images), *shape, images.shape[1]), np.float32)
    start, stop = max(first, 0), min(first + shape[0], images.shape[2])
    result[:, start - first : stop - first, left : left + images.shape[3]] = images[:, :, start:stop].transpose(0, 2, 3, 1)
    return result


def _input_tiles(images: Any, padding: Sizes, rows: slice, across: int) -> Any:
    """Return the transformed input tiles of some rows of tiles, as `(36, tile, channel)`."""
    down = rows.stop - rows.start
    padded = _channels_last(images, 4 * rows.start - padding[0], (4 * down + 2, 4 * across + 2), padding[1])
    sample, row, column, channel = padded.strides
    shape = (6, 6, len(images), down, across, images.shape[1])
    view = strided(padded, shape, (row, column, sample, 4 * row, 4 * column, channel))
    return (_TILE2 @ view.reshape(36, -1)).reshape(36, -1, images.shape[1])


def _gradient_tiles(grads: Any, rows: slice, across: int) -> Any:
    """Return the transformed tiles of the output's gradient, as `(36, tile, output channel)`."""
    down, outputs = rows.stop - rows.start, grads.shape[1]
    whole = _channels_last(grads, 4 * rows.start, (4 * down, 4 * across))
    blocks = whole.reshape(-1, down, 4, across, 4, outputs).transpose(2, 4, 0, 1, 3, 5)
    return (_RESULT2.T @ blocks.reshape(16, -1)).reshape(36, -1, outputs)


def transformed(weight: Any) -> Any:
    """Return the transformed weights, as `(36, channel, output channel)`."""
    outputs, channels = weight.shape[:2]
    result = np.empty((36, channels, outputs), np.float32)

    def transform(part: slice) -> None:
        places = weight[:, part].transpose(2, 3, 1, 0).reshape(9, -1)
        np.matmul(_WEIGHT2, places, out=result[:, part].reshape(36, -1, copy=False))

    share(transform, parts(channels, channels, result.size >= LARGE), result.size >= LARGE)
    return result


def convolve(input: Any, weight: Any, bias: Any, padding: Sizes, weights: Any = None) -> Any:
    """Convolve float32 images with stride 1 and a weight `(outputs, channels, 3, 3)`; `weights` is the transformed weight.

    Return None if a result is not finite: an infinity makes the other results of its tile NaN.
    """
    outputs, size = len(weight), [n + 2 * p - 2 for n, p in zip(input.shape[2:], padding, strict=True)]
    tiles = _tiles(size)
    weights = transformed(weight) if weights is None else weights
    output = np.empty((len(input), outputs, *size), np.float32)

    def compute(block: tuple[slice, slice]) -> bool:
        images, rows = block
        products = np.matmul(_input_tiles(input[images], padding, rows, tiles[1]), weights)
        results = (_RESULT2 @ products.reshape(36, -1)).reshape(4, 4, -1, rows.stop - rows.start, tiles[1], outputs)
        whole = np.ascontiguousarray(results.transpose(2, 3, 0, 4, 1, 5)).reshape(len(input[images]), -1, 4 * tiles[1], outputs)
        out = output[images, :, 4 * rows.start : 4 * rows.stop]
        out[...] = whole[:, : out.shape[2], : size[1]].transpose(0, 3, 1, 2)
        if bias is not None:
            out += bias[:, None, None]
        return bool(np.isfinite(np.add.reduce(results, None)))

    pays = _pays(input, outputs, tiles)
    is_finite = all(share(compute, _blocks(len(input), tiles, _AT_ONCE, pays), pays))
    return output if is_finite else None


def weight_gradient(grad: Any, input: Any, padding: Sizes) -> Any:
    """Return the gradient of the weight, given the gradient of the output; None if it is not finite."""
    (batch, outputs, *size), channels = grad.shape, input.shape[1]
    tiles, most = _tiles(size), max(_AT_ONCE, min(outputs, channels))
    pays = _pays(input, outputs, tiles)

    def compute(grad: Any, blocks: list[tuple[slice, slice]]) -> Any:
        accumulated: Any = None
        for images, rows in blocks:
            grad_tiles = _gradient_tiles(grad[images], rows, tiles[1]).swapaxes(1, 2)
            products = np.matmul(grad_tiles, _input_tiles(input[images], padding, rows, tiles[1]))
            accumulated = products if accumulated is None else np.add(accumulated, products, accumulated)
        return accumulated.reshape(36, -1).T @ _WEIGHT2

    if batch * tiles[0] * tiles[1] < outputs:  # few tiles: transforming them twice is cheaper than summing large gradients
        blocks = _blocks(batch, tiles, most, False)
        grad_weight = np.concatenate(share(lambda part: compute(grad[:, part], blocks), parts(outputs, outputs, pays), pays))
    else:
        blocks = _blocks(batch, tiles, most, pays)
        grad_weight = total(share(lambda part: compute(grad, blocks[part]), parts(len(blocks), len(blocks), pays), pays))
    return grad_weight.reshape(outputs, channels, 3, 3) if np.isfinite(np.add.reduce(grad_weight, None)) else None
