"""Winograd's convolution of 3 x 3 windows for many channels of small images: F(2 x 2, 3 x 3), with tiles of 4 x 4.

With so few tiles, the size of the transformed weights counts most: 16 numbers for 9.  All transforms are matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .choice import FLOAT
from .kernels import kernels, optional

Sizes = Sequence[int]

_TILE = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], FLOAT)
_WEIGHT = np.array([[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]], FLOAT)
_RESULT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]], FLOAT)
_TILE2, _WEIGHT2, _RESULT2 = (np.kron(matrix, matrix) for matrix in (_TILE, _WEIGHT, _RESULT))  # both dimensions at once
_FLIPPED2 = np.ascontiguousarray(_WEIGHT2[:, ::-1])  # for kernels flipped in both dimensions
_CHANNELS, _FEW, _MOST = 128, 32, 128  # least channels, least and most tiles for which this is faster


def suits(shape: Sizes, weight_shape: Sizes, size: Sizes) -> bool:
    """Whether this is likely to be the fastest algorithm, for a stride of 1."""
    return min(weight_shape[:2]) >= _CHANNELS and _FEW <= shape[0] * -(-size[0] // 2) * -(-size[1] // 2) <= _MOST


def _transformed(matrix: Any, array: Any) -> Any:
    """The product of a matrix and an array along its first dimension."""
    result = np.empty((len(matrix), *array.shape[1:]), FLOAT)
    kernels.product(result.reshape(len(matrix), -1), matrix, array.reshape(len(array), -1), optional(None))
    return result


def _tiles(images: Any, size: int, start: Sizes, down: int, right: int) -> Any:
    """Tiles of `size x size` at a distance of two, as `(place, tile, channel)`; `start` is the padding before the images."""
    batch, channels, height, width = images.shape
    padded = np.zeros((batch, 2 * down + size - 2, 2 * right + size - 2, channels), FLOAT)
    rows, columns = (min(n, end - at) for n, end, at in zip((height, width), padded.shape[1:3], start, strict=True))
    inside = padded[:, start[0] : start[0] + rows, start[1] : start[1] + columns]
    inside[...] = images[:, :, :rows, :columns].transpose(0, 2, 3, 1)
    image, row, column, channel = padded.strides
    tiles = as_strided(padded, (size, size, batch, down, right, channels), (row, column, image, 2 * row, 2 * column, channel))
    return tiles.reshape(size * size, batch * down * right, channels)


def _halves(size: Sizes) -> tuple[int, ...]:
    return tuple(-(-n // 2) for n in size)


def convolve(input: Any, weight: Any, bias: Any, padding: Sizes) -> Any:
    """The convolution of stride 1 with a weight `(outputs, channels, 3, 3)`."""
    return _convolve(input, weight, True, bias, padding)


def convolve_back(input: Any, weight: Any, bias: Any, padding: Sizes) -> Any:
    """The transposed convolution, from the outputs to the channels."""
    return _convolve(input, weight, False, bias, [2 - p for p in padding])


def _convolve(input: Any, weight: Any, forward: bool, bias: Any, padding: Sizes) -> Any:
    outputs = weight.shape[0 if forward else 1]
    height, width = (n + 2 * p - 2 for n, p in zip(input.shape[2:], padding, strict=True))
    down, right = _halves((height, width))
    tiles = _transformed(_TILE2, _tiles(input, 4, padding, down, right))
    weights, results = np.empty((16, *weight.shape[:2]), FLOAT), np.empty((*tiles.shape[:2], outputs), FLOAT)
    kernels.product(weights.reshape(16, -1), _WEIGHT2 if forward else _FLIPPED2, weight.reshape(-1, 9).T, optional(None))
    kernels.products(results, tiles, weights.swapaxes(1, 2) if forward else weights, False)
    places = _transformed(_RESULT2, results).reshape(2, 2, len(input), down, right, outputs)
    output = np.empty((len(input), outputs, height, width), FLOAT)
    for r, c in np.ndindex(2, 2):
        target = output[:, :, r::2, c::2]
        target[...] = places[r, c].transpose(0, 3, 1, 2)[:, :, : target.shape[2], : target.shape[3]]
    return output if bias is None else np.add(output, bias.reshape(-1, 1, 1), output)


def weight_gradient(grad: Any, input: Any, padding: Sizes) -> Any:
    """The gradient of the weight, given that of the result."""
    outputs, channels = grad.shape[1], input.shape[1]
    down, right = _halves(grad.shape[2:])
    tiles = _transformed(_TILE2, _tiles(input, 4, padding, down, right))
    grad_tiles = _transformed(np.ascontiguousarray(_RESULT2.T), _tiles(grad, 2, (0, 0), down, right))
    total, grad_weight = np.empty((16, outputs, channels), FLOAT), np.empty((outputs, channels, 3, 3), FLOAT)
    kernels.products(total, grad_tiles.swapaxes(1, 2), tiles, False)
    kernels.weights_from_places(grad_weight.reshape(-1, 9), total.reshape(16, -1), _WEIGHT2)
    return grad_weight
