"""Convolution of 3 x 3 windows with a quarter of the multiplications (Lavin & Gray 2016, after S. Winograd).

The algorithm of the NumPy backend's `winograd`, with compiled transforms and products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import winograd as plain

from .choice import FLOAT
from .kernels import kernels, optional

Sizes = Sequence[int]

_CACHE = 1 << 22  # bytes of transformed tiles at a time
_WEIGHT2 = np.kron(plain._WEIGHT, plain._WEIGHT)


def suits(shape: Sizes, weight_shape: Sizes, size: Sizes) -> bool:
    """Whether this is likely to be faster than a direct convolution."""
    return plain.suits(shape, weight_shape, size, FLOAT)


def _chunks(batch: int, tiles: int, channels: int) -> Iterator[slice]:
    """Slices of the batch of about equal length, whose transformed tiles fit into the cache."""
    count = -(-144 * batch * tiles * channels // _CACHE)
    step = -(-batch // count)
    return (slice(start, min(start + step, batch)) for start in range(0, batch, step))


def _room(tiles: int, channels: int) -> Any:
    return np.empty((36, tiles, channels), FLOAT)


def convolve(input: Any, weight: Any, bias: Any, padding: Sizes) -> Any:
    """The convolution of stride 1 with a weight `(outputs, channels, 3, 3)`."""
    return _convolve(input, weight.swapaxes(0, 1), False, bias, padding)


def convolve_back(input: Any, weight: Any, bias: Any, padding: Sizes) -> Any:
    """The transposed convolution, from the outputs to the channels."""
    return _convolve(input, weight, True, bias, [2 - p for p in padding])


def _convolve(input: Any, weight: Any, flipped: bool, bias: Any, padding: Sizes) -> Any:
    """`weight` is `(channels, outputs, 3, 3)`."""
    channels, outputs = weight.shape[:2]
    height, width = (n + 2 * p - 2 for n, p in zip(input.shape[2:], padding, strict=True))
    down, right = -(-height // 4), -(-width // 4)
    weights = _room(channels, outputs)
    kernels.winograd_weights(weights, weight, flipped)
    output = np.empty((len(input), outputs, height, width), FLOAT)
    tiles = results = _room(0, 0)
    for chunk in _chunks(len(input), down * right, max(channels, outputs)):
        if len(input[chunk]) * down * right != tiles.shape[1]:
            tiles, results = (_room(len(input[chunk]) * down * right, n) for n in (channels, outputs))
        kernels.input_tiles(tiles, input[chunk], down, right, *padding)
        kernels.products(results, tiles, weights, False)
        kernels.winograd_results(output[chunk], results, optional(bias), down, right)
    return output


def weight_gradient(grad: Any, input: Any, padding: Sizes) -> Any:
    """The gradient of the weight, given that of the result."""
    outputs, channels = grad.shape[1], input.shape[1]
    down, right = (-(-n // 4) for n in grad.shape[2:])
    total, tiles, grad_tiles = np.empty((36, outputs, channels), FLOAT), _room(0, 0), _room(0, 0)
    for number, chunk in enumerate(_chunks(len(input), down * right, max(channels, outputs))):
        if len(input[chunk]) * down * right != tiles.shape[1]:
            tiles, grad_tiles = (_room(len(input[chunk]) * down * right, n) for n in (channels, outputs))
        kernels.input_tiles(tiles, input[chunk], down, right, *padding)
        kernels.gradient_tiles(grad_tiles, grad[chunk], down, right)
        kernels.products(total, grad_tiles.swapaxes(1, 2), tiles, number > 0)
    grad_weight = np.empty((outputs, channels, 3, 3), FLOAT)
    kernels.weights_from_places(grad_weight.reshape(-1, 9), total.reshape(36, -1), _WEIGHT2)
    return grad_weight
