"""Convolution of images: Winograd's way for windows of 3 x 3, oneDNN's for others, but for the gradients of few channels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import kernels_conv

from . import columns, onednn, small_winograd, winograd
from .choice import FLOAT, fast, is_dense

Sizes = Sequence[int]

LEAST = 1 << 8


def _suits(groups: int, *arrays: Any) -> bool:
    return groups == 1 and arrays[0].ndim == 4 and is_dense(*arrays) and all(each.size for each in arrays) and onednn.available()


def _winograd(input: Any, shape: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    """The module with Winograd's way for such images, where it is likely to be the faster one."""
    if tuple(shape[2:]) != (3, 3) or max(stride) > 1 or max(dilation) > 1 or kernels_conv._EXACT:
        return None
    return next((each for each in (winograd, small_winograd) if each.suits(input.shape, shape, size)), None)


def _free(shape: Sizes) -> bool:
    """Whether oneDNN shall choose the layouts: products of matrices, of windows of one element, do with what there is."""
    return prod(shape[2:]) > 1


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
    size = kernels_conv.output_size(input.shape[2:], weight.shape[2:], stride, padding, dilation)
    if way := _winograd(input, weight.shape, size, stride, dilation):
        return way.convolve(input, weight, bias, padding)
    made = np.empty((len(input), len(weight), *size), FLOAT)
    return onednn.convolution(input, weight, bias, made, (tuple(stride), tuple(padding), tuple(dilation)), _free(weight.shape))


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
    if way := _winograd(input, shape, grad.shape[2:], stride, dilation):
        return way.weight_gradient(grad, input, padding)
    if columns.suits_weight(len(input), shape, stride):
        return columns.weight_gradient(grad, input, shape, padding, dilation)
    geometry = (tuple(stride), tuple(padding), tuple(dilation))
    return onednn.convolution_weight(grad, input, np.empty(shape, FLOAT), geometry, _free(shape))


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
    turned = (weight.shape[1], weight.shape[0], *weight.shape[2:])
    if max(padding) <= 2 and (way := _winograd(input, turned, size, stride, dilation)):
        return way.convolve_back(input, weight, bias, padding)
    if columns.suits(len(input), weight.shape, stride):
        made = columns.input_gradient(input, weight, size, padding, dilation)
    else:
        made = np.empty((len(input), weight.shape[1], *size), FLOAT)
        geometry = (tuple(stride), tuple(padding), tuple(dilation))
        onednn.convolution_input(input, weight, made, geometry, _free(weight.shape))
    if bias is not None:
        made += bias.reshape(-1, 1, 1)
    return made
