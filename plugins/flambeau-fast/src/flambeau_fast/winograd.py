"""Winograd convolution of 3 x 3 kernels, with a quarter of the multiplications (Lavin & Gray 2016).

The algorithm is the same as in the NumPy backend's `winograd`, implemented in one C call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .choice import FLOAT
from .kernels import kernels

Sizes = Sequence[int]

_FEWEST = 8  # minimum number of 4 x 4 tiles for which Winograd convolution is used
_FEWEST_CHANNELS = (16, 32)  # minimum number of input and of output channels, for stride 1 and for stride 2


def suits(batch: int, weight_shape: Sizes, size: Sizes, stride: int) -> bool:
    """Whether Winograd is likely to be faster than direct convolution. `size` is the image size `(H, W)`; tiles are 4 x 4."""
    tiles = batch * -(-size[0] // 4) * -(-size[1] // 4)
    return min(weight_shape[:2]) >= _FEWEST_CHANNELS[stride - 1] and tiles >= _FEWEST and min(size) >= 4


def convolve(input: Any, weight: Any, bias: Any, padding: Sizes, size: Sizes, stride: int) -> Any:
    """Convolve with stride 1 or 2 and a weight `(C_out, C_in, 3, 3)`; `size` is the output size."""
    return _convolve(input, weight.swapaxes(0, 1), False, bias, padding, size, stride)


def convolve_back(input: Any, weight: Any, bias: Any, padding: Sizes, size: Sizes, stride: int) -> Any:
    """Compute the transposed convolution with stride 1 or 2: from `C_out` to `C_in` channels."""
    return _convolve(input, weight, True, bias, [2 - p for p in padding] if stride == 1 else padding, size, stride)


def _convolve(input: Any, weight: Any, flipped: bool, bias: Any, padding: Sizes, size: Sizes, stride: int) -> Any:
    """Run the kernel with a weight of shape `(C_in, C_out, 3, 3)`."""
    output = np.empty((len(input), weight.shape[1], *size), FLOAT)
    kernels.winograd(output, input, weight, bias, flipped, *padding, stride)
    return output


def weight_gradient(grad: Any, input: Any, padding: Sizes, stride: int) -> Any:
    """Return the gradient of the weight, given the gradient of the output."""
    grad_weight = np.empty((grad.shape[1], input.shape[1], 3, 3), FLOAT)
    kernels.winograd_weight(grad_weight, input, grad, *padding, stride)
    return grad_weight
