"""Gradients of convolutions with few channels, for which oneDNN would pad its vectors with zeros."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from . import onednn
from .choice import FLOAT
from .lazy import Lazy

loops = Lazy("loops.columns")

Sizes = Sequence[int]

LANES = 16  # numbers in a vector register
STRIPS = 4  # partial sums of gradients; a fixed number, so that results do not depend on the number of threads


def suits(batch: int, shape: Sizes, stride: Sizes) -> bool:
    """Whether this is likely to be faster than oneDNN for the input's gradient, for a weight of this shape."""
    return batch >= LANES and max(stride) == 1 and prod(shape[2:]) > 1 and shape[1] < LANES


def suits_weight(batch: int, shape: Sizes, stride: Sizes) -> bool:
    """Whether this is likely to be faster than oneDNN for the weight's gradient."""
    return suits(batch, shape, stride) and shape[1] >= LANES // 2


def _batch_last(array: Any, padding: Sizes = (0, 0)) -> Any:
    """The images as `(channel, row, column, sample)`, padded with zeros."""
    batch, channels, height, width = array.shape
    (down, right), is_padded = padding, any(padding)
    result = (np.zeros if is_padded else np.empty)((channels, height + 2 * down, width + 2 * right, batch), FLOAT)
    onednn.copied(array.transpose(1, 2, 3, 0), result[:, down : down + height, right : right + width])
    return result


def weight_gradient(grad: Any, input: Any, shape: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """The gradient of the weight, given that of the result."""
    grads = _batch_last(grad)
    parts = np.zeros((min(STRIPS, grads.shape[1]), shape[0], prod(shape[1:])), FLOAT)
    loops.weight_gradient(
        onednn.gemm(), parts, grads.reshape(*grads.shape[:2], -1), _batch_last(input, padding), *shape[2:], *dilation
    )
    return parts.reshape(len(parts), *shape).sum(0)


def input_gradient(grad: Any, weight: Any, size: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    """The gradient of the input, given that of the result."""
    grads, (down, right) = _batch_last(grad), padding
    images = np.zeros((weight.shape[1], size[0] + 2 * down, size[1] + 2 * right, len(grad)), FLOAT)
    loops.input_gradient(
        onednn.gemm(),
        images,
        grads.reshape(*grads.shape[:2], -1),
        weight.reshape(len(weight), -1),
        *weight.shape[2:],
        *dilation,
        loops.strips(weight.shape[1]),
    )
    inside = images[:, down : down + size[0], right : right + size[1]].transpose(3, 0, 1, 2)
    return onednn.copied(inside, np.empty(inside.shape, FLOAT))
