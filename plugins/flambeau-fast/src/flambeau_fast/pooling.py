"""Max and average pooling of images, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.extension.functions import window_sizes

from .choice import FLOAT, fast, is_dense
from .kernels import kernels

LEAST = 1 << 12
Sizes = Sequence[int]


def _images(array: Any) -> Any:
    return array.reshape(-1, *array.shape[2:])


def _is_2x2(input: Any, window_size: Sizes, stride: Sizes, padding: Sizes) -> bool:
    """Whether the windows are 2 x 2, do not overlap, and cover every element."""
    height, width = input.shape[2:]
    return tuple(window_size) == tuple(stride) == (2, 2) and not any(padding) and height % 2 == width % 2 == 0


def _windows(array: Any) -> Any:
    """Reshape images to `(image, window row, row in window, window column, column in window)`."""
    height, width = array.shape[2:]
    return array.reshape(-1, height // 2, 2, width // 2, 2)


@fast(1)
def max_pool2d(input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    if max(dilation) > 1:
        return None
    output = np.empty((*input.shape[:2], *size), FLOAT)
    kernels.max_pool(output, input, *window_size, *stride, *padding)
    return output


@fast(LEAST, of=1)
def max_pool_backward(g: Any, input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    if input.ndim != 4 or max(dilation) > 1 or not is_dense(g, input):
        return None
    if _is_2x2(input, window_size, stride, padding):
        grad_input = np.empty(input.shape, FLOAT)
        kernels.max_pool_2x2_backward(_windows(grad_input), _images(g), _windows(input))
    else:
        grad_input = np.zeros(input.shape, FLOAT)
        kernels.max_pool_backward(_images(grad_input), _images(g), _images(input), *window_size, *stride, *padding)
    return grad_input


def _shares(
    space: Sizes, window_size: Sizes, stride: Sizes, padding: Sizes, size: Sizes, count_padding: bool, divisor: int | None
) -> Any:
    """Return the factor that turns each window's sum into its average: 1 / `divisor`, or 1 / the window's number of elements."""
    counts = window_sizes(np, space, window_size, stride, padding, size, count_padding, divisor, FLOAT)
    return np.array(np.broadcast_to(FLOAT.type(1) / np.asarray(counts, FLOAT), tuple(size)), order="C")


@fast(LEAST)
def avg_pool2d_windows(
    input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, size: Sizes, count_padding: bool, divisor: int | None
) -> Any:
    if not is_dense(input):
        return None
    output = np.empty((*input.shape[:2], *size), FLOAT)
    shares = _shares(input.shape[2:], window_size, stride, padding, size, count_padding, divisor)
    kernels.avg_pool(_images(output), _images(input), shares, *window_size, *stride, *padding)
    return output


@fast(LEAST)
def avg_pool_backward(
    g: Any, space: Sizes, window_size: Sizes, stride: Sizes, padding: Sizes, size: Sizes, count_padding: bool, divisor: int | None
) -> Any:
    if g.ndim != 4 or not is_dense(g):
        return None
    grad_input = np.zeros((*g.shape[:2], *space), FLOAT)
    shares = _shares(space, window_size, stride, padding, size, count_padding, divisor)
    kernels.avg_pool_backward(_images(grad_input), _images(g), shares, *window_size, *stride, *padding)
    return grad_input
