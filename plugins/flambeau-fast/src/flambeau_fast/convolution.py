"""2D convolution: Winograd's algorithm for 3 x 3 kernels of stride 1 or 2, else products with windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import kernels_conv

from . import winograd
from .choice import FLOAT, fast, is_dense
from .kernels import alone, kernels, optional

Sizes = Sequence[int]

LEAST = 1 << 4


def _suits(groups: int, *arrays: Any) -> bool:
    if groups != 1 or arrays[0].ndim != 4:
        return False
    for array in arrays:
        if array.dtype is not FLOAT or not array.size or not array.flags.c_contiguous:
            return False
    return alone()


def _suits_winograd(input: Any, shape: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> bool:
    """Whether Winograd's algorithm can be used, and is likely to be fastest."""
    if tuple(shape[2:]) != (3, 3) or stride[0] != stride[1] or stride[0] > 2 or max(dilation) > 1 or kernels_conv._EXACT:
        return False
    return winograd.suits(input.shape, shape, size, stride[0])


@fast(LEAST)
def convolution(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = (),
    padding: Sizes = (),
    dilation: Sizes = (),
    groups: int = 1,
    workspace: Any = None,
) -> Any:
    if not _suits(groups, input, weight) or not (bias is None or is_dense(bias)):
        return None
    size = kernels_conv.geometry_of(input.shape, weight.shape, stride, padding, dilation, groups).size
    if _suits_winograd(input, weight.shape, size, stride, dilation):
        return winograd.convolve(input, weight, bias, padding, size, stride[0])
    output = np.empty((len(input), len(weight), *size), FLOAT)
    kernels.convolution(output, input, weight, optional(bias), *stride, *padding, *dilation)
    return output


@fast(LEAST)
def convolution_weight(
    grad: Any,
    input: Any,
    shape: Sizes = (),
    stride: Sizes = (),
    padding: Sizes = (),
    dilation: Sizes = (),
    groups: int = 1,
    workspace: Any = None,
) -> Any:
    if not _suits(groups, grad, input):
        return None
    if _suits_winograd(input, shape, grad.shape[2:], stride, dilation):
        return winograd.weight_gradient(grad, input, padding, stride[0])
    grad_weight = np.empty(shape, FLOAT)
    kernels.convolution_weight(grad, input, grad_weight, optional(None), *stride, *padding, *dilation)
    return grad_weight


@fast(LEAST)
def convolution_transposed(
    input: Any,
    weight: Any,
    bias: Any = None,
    size: Sizes = (),
    stride: Sizes = (),
    padding: Sizes = (),
    dilation: Sizes = (),
    groups: int = 1,
) -> Any:
    if not _suits(groups, input, weight):
        return None
    transposed_shape = (weight.shape[1], weight.shape[0], *weight.shape[2:])
    tiled = size if tuple(stride) == (1, 1) else input.shape[2:]  # in tiles of 4 x 4
    if max(padding) <= 2 and _suits_winograd(input, transposed_shape, tiled, stride, dilation):
        return winograd.convolve_back(input, weight, bias, padding, size, stride[0])
    output = np.empty((len(input), weight.shape[1], *size), FLOAT)
    kernels.convolution_input(output, input, weight, optional(bias), *stride, *padding, *dilation)
    return output
