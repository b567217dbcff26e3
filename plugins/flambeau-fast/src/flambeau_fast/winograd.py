"""Convolution of 3 x 3 windows with a quarter of the multiplications (Lavin & Gray 2016, after S. Winograd).

As in the NumPy backend's `winograd`, with transforms compiled and products by oneDNN.
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
_TURNED2 = np.ascontiguousarray(_WEIGHT2[:, ::-1])  # of windows upside down and back to front


def suits(shape: Sizes, weight_shape: Sizes, size: Sizes) -> bool:
    """Whether this way is likely to be the faster one."""
    return plain.suits(shape, weight_shape, size, FLOAT)


def _channels_last(images: Any) -> Any:
    turned = images.transpose(0, 2, 3, 1)
    return onednn.copied(turned, np.empty(turned.shape, FLOAT))


def _chunks(batch: int, tiles: int, channels: int) -> Iterator[slice]:
    """Slices of about the same length."""
    count = -(-144 * batch * tiles * channels // _CACHE)
    step = -(-batch // count)
    return (slice(start, min(start + step, batch)) for start in range(0, batch, step))


def _room(tiles: int, channels: int) -> Any:
    return np.empty((36, tiles, channels), FLOAT)


def convolve(input: Any, weight: Any, bias: Any, padding: Sizes) -> Any:
    """The convolution of stride 1 with a weight `(outputs, channels, 3, 3)`."""
    turned = weight.swapaxes(0, 1)
    return _convolve(input, onednn.copied(turned, np.empty(turned.shape, FLOAT)), _WEIGHT2, bias, padding)


def convolve_back(input: Any, weight: Any, bias: Any, padding: Sizes) -> Any:
    """Its transpose, from the outputs to the channels."""
    return _convolve(input, weight, _TURNED2, bias, [2 - each for each in padding])


def _convolve(input: Any, weight: Any, transform: Any, bias: Any, padding: Sizes) -> Any:
    """`weight` is `(channels, outputs, 3, 3)`."""
    (channels, outputs), gemm = weight.shape[:2], onednn.gemm()
    images = _channels_last(input)
    height, width = (n + 2 * p - 2 for n, p in zip(input.shape[2:], padding, strict=True))
    down, right = -(-height // 4), -(-width // 4)
    weights = np.empty((36, channels, outputs), FLOAT)
    products.product(gemm, weights.reshape(36, -1), transform, False, weight.reshape(-1, 9), True)
    made = np.empty((len(input), height, width, outputs), FLOAT)
    offset = np.zeros(outputs, FLOAT) if bias is None else np.ascontiguousarray(bias)
    tiles = results = _room(0, 0)
    for chunk in _chunks(len(images), down * right, max(channels, outputs)):
        if len(images[chunk]) * down * right != tiles.shape[1]:
            tiles, results = (_room(len(images[chunk]) * down * right, each) for each in (channels, outputs))
        loops.input_tiles(tiles, images[chunk], down, right, *padding)
        products.products(gemm, results, tiles, False, weights, False)
        loops.results(made[chunk], results, offset, down, right)
    turned = made.transpose(0, 3, 1, 2)
    return onednn.copied(turned, np.empty(turned.shape, FLOAT))


def weight_gradient(grad: Any, input: Any, padding: Sizes) -> Any:
    """The gradient of the weight, given that of the result."""
    outputs, channels, gemm = grad.shape[1], input.shape[1], onednn.gemm()
    images, slopes = _channels_last(input), _channels_last(grad)
    down, right = (-(-n // 4) for n in grad.shape[2:])
    total, tiles, of_slopes = None, _room(0, 0), _room(0, 0)
    for chunk in _chunks(len(images), down * right, max(channels, outputs)):
        if len(images[chunk]) * down * right != tiles.shape[1]:
            tiles, of_slopes = (_room(len(images[chunk]) * down * right, each) for each in (channels, outputs))
        loops.input_tiles(tiles, images[chunk], down, right, *padding)
        loops.slope_tiles(of_slopes, slopes[chunk], down, right)
        part = np.empty((36, outputs, channels), FLOAT)
        products.products(gemm, part, of_slopes, True, tiles, False)
        total = part if total is None else np.add(total, part, total)
    made = np.empty((outputs, channels, 3, 3), FLOAT)
    products.product(gemm, made.reshape(-1, 9), total.reshape(36, -1), True, _WEIGHT2, False)
    return made
