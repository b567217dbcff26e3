"""Convolution of 3 x 3 windows with a quarter of the multiplications (Lavin & Gray 2016, after S. Winograd).

The algorithm of the NumPy backend's `winograd`, with compiled transforms and matrix products by oneDNN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import winograd as plain

from . import onednn
from .choice import FLOAT
from .lazy import Lazy

loops = Lazy("loops.winograd")
products = Lazy("loops.matrix")

Sizes = Sequence[int]

_CACHE = 1 << 22  # bytes of transformed tiles at a time
_WEIGHT2 = np.kron(plain._WEIGHT, plain._WEIGHT)
_FLIPPED2 = np.ascontiguousarray(_WEIGHT2[:, ::-1])  # for kernels flipped in both dimensions


def suits(shape: Sizes, weight_shape: Sizes, size: Sizes) -> bool:
    """Whether this is likely to be faster than oneDNN's convolution."""
    return plain.suits(shape, weight_shape, size, FLOAT)


def _channels_last(images: Any) -> Any:
    permuted = images.transpose(0, 2, 3, 1)
    return onednn.copied(permuted, np.empty(permuted.shape, FLOAT))


def _chunks(batch: int, tiles: int, channels: int) -> Iterator[slice]:
    """Slices of the batch of about equal length, whose transformed tiles fit into the cache."""
    count = -(-144 * batch * tiles * channels // _CACHE)
    step = -(-batch // count)
    return (slice(start, min(start + step, batch)) for start in range(0, batch, step))


def _room(tiles: int, channels: int) -> Any:
    return np.empty((36, tiles, channels), FLOAT)


def convolve(input: Any, weight: Any, bias: Any, padding: Sizes) -> Any:
    """The convolution of stride 1 with a weight `(outputs, channels, 3, 3)`."""
    transposed = weight.swapaxes(0, 1)
    return _convolve(input, onednn.copied(transposed, np.empty(transposed.shape, FLOAT)), _WEIGHT2, bias, padding)


def convolve_back(input: Any, weight: Any, bias: Any, padding: Sizes) -> Any:
    """The transposed convolution, from the outputs to the channels."""
    return _convolve(input, weight, _FLIPPED2, bias, [2 - p for p in padding])


def _convolve(input: Any, weight: Any, transform: Any, bias: Any, padding: Sizes) -> Any:
    """`weight` is `(channels, outputs, 3, 3)`."""
    (channels, outputs), gemm = weight.shape[:2], onednn.gemm()
    images = _channels_last(input)
    height, width = (n + 2 * p - 2 for n, p in zip(input.shape[2:], padding, strict=True))
    down, right = -(-height // 4), -(-width // 4)
    weights = np.empty((36, channels, outputs), FLOAT)
    products.product(gemm, weights.reshape(36, -1), transform, False, weight.reshape(-1, 9), True)
    output = np.empty((len(input), height, width, outputs), FLOAT)
    offset = np.zeros(outputs, FLOAT) if bias is None else np.ascontiguousarray(bias)
    tiles = results = _room(0, 0)
    for chunk in _chunks(len(images), down * right, max(channels, outputs)):
        if len(images[chunk]) * down * right != tiles.shape[1]:
            tiles, results = (_room(len(images[chunk]) * down * right, n) for n in (channels, outputs))
        loops.input_tiles(tiles, images[chunk], down, right, *padding)
        products.products(gemm, results, tiles, False, weights, False)
        loops.results(output[chunk], results, offset, down, right)
    permuted = output.transpose(0, 3, 1, 2)
    return onednn.copied(permuted, np.empty(permuted.shape, FLOAT))


def weight_gradient(grad: Any, input: Any, padding: Sizes) -> Any:
    """The gradient of the weight, given that of the result."""
    outputs, channels, gemm = grad.shape[1], input.shape[1], onednn.gemm()
    images, grads = _channels_last(input), _channels_last(grad)
    down, right = (-(-n // 4) for n in grad.shape[2:])
    total, tiles, grad_tiles = None, _room(0, 0), _room(0, 0)
    for chunk in _chunks(len(images), down * right, max(channels, outputs)):
        if len(images[chunk]) * down * right != tiles.shape[1]:
            tiles, grad_tiles = (_room(len(images[chunk]) * down * right, n) for n in (channels, outputs))
        loops.input_tiles(tiles, images[chunk], down, right, *padding)
        loops.gradient_tiles(grad_tiles, grads[chunk], down, right)
        part = np.empty((36, outputs, channels), FLOAT)
        products.products(gemm, part, grad_tiles, True, tiles, False)
        total = part if total is None else np.add(total, part, total)
    grad_weight = np.empty((outputs, channels, 3, 3), FLOAT)
    products.product(gemm, grad_weight.reshape(-1, 9), total.reshape(36, -1), True, _WEIGHT2, False)
    return grad_weight
