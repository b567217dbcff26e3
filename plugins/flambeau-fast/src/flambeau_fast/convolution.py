"""2D convolution: Winograd's algorithm for 3 x 3 kernels with stride 1 or 2, else im2col and matrix products.

Depthwise convolutions have a separate kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from flambeau_backends.numpy.packs import kernels_conv, output_size

from . import winograd
from .choice import FLOAT, KERNELS, fast, is_dense
from .kernels import alone, kernels
from .sums import total

Sizes = Sequence[int]

LEAST = 1 << 4


def _suits(*arrays: Any) -> bool:
    if arrays[0].ndim != 4:
        return False
    for array in arrays:
        if array.dtype is not FLOAT or not array.size or not array.flags.c_contiguous:
            return False
    return alone()


class Plan(NamedTuple):
    """The algorithms of a convolution and its gradients, for one combination of shapes."""

    size: Sizes
    """Output size."""
    uses_winograd: bool
    """Whether Winograd's algorithm computes the convolution and the weight's gradient."""
    transposed_uses_winograd: bool
    """Whether Winograd's algorithm computes the input's gradient."""


@lru_cache(256)
def plan(batch: int, space: Sizes, shape: Sizes, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Plan:
    """Choose the algorithms for `batch` images of size `space`, a weight of shape `shape` and an output of size `size`."""
    may_use = shape[2:] == (3, 3) and stride[0] == stride[1] <= 2 and max(dilation) == 1 and kernels_conv.uses_winograd
    tiled = space if stride == (1, 1) else size  # size of the image that is split into 4 x 4 tiles
    return Plan(
        size,
        may_use and winograd.suits(batch, shape, size, stride[0]),
        may_use and max(padding) <= 2 and winograd.suits(batch, shape, tiled, stride[0]),
    )


@lru_cache(256)
def _plan_of_input(images: Sizes, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Plan:
    """Return the plan for an input of shape `images` and a weight of shape `shape`; compute the output size."""
    size = output_size(images[2:], shape[2:], stride, padding, dilation)
    return plan(images[0], images[2:], shape, size, stride, padding, dilation)


def _is_finite(array: Any) -> bool:
    """Whether all elements are finite. Winograd's algorithm turns an infinity into NaN in neighbouring results."""
    return bool(np.isfinite(total(array)))


def _depthwise(input: Any, weight: Any, bias: Any, size: Sizes, steps: Sizes, groups: int) -> Any:
    """Compute a convolution with a single input channel per group; return None for other groups."""
    if weight.shape[1] != 1 or input.shape[1] != groups:
        return None
    output = np.empty((len(input), len(weight), *size), FLOAT)
    kernels.depthwise(output, input, weight, bias, *steps, 1, 1)
    return output


def _depthwise_weight(grad: Any, input: Any, shape: Sizes, steps: Sizes, groups: int) -> Any:
    """Compute the gradient of the weight of a depthwise convolution; return None for other groups."""
    if shape[1] != 1 or input.shape[1] != groups:
        return None
    grad_weight = np.empty(shape, FLOAT)
    kernels.depthwise_weight(grad, input, grad_weight, None, *steps, 1, 1)
    return grad_weight


def _depthwise_transposed(
    input: Any, weight: Any, bias: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    """Compute a depthwise transposed convolution: a convolution of the input with zeros between its elements."""
    if weight.shape[1] != 1 or len(weight) != groups:
        return None
    reach = [(k - 1) * d for k, d in zip(weight.shape[2:], dilation, strict=True)]
    outside = [r - p for r, p in zip(reach, padding, strict=True)]
    if min(outside) < 0:
        return None
    output = np.empty((len(input), groups, *size), FLOAT)
    kernels.depthwise(output, input, np.ascontiguousarray(weight[:, :, ::-1, ::-1]), bias, 1, 1, *outside, *dilation, *stride)
    return output


def _linear(input: Any, weight: Any, bias: Any) -> Any:
    """Compute the convolution of images of one pixel with a 1 x 1 kernel."""
    product = KERNELS["mm"](input.reshape(input.shape[:2]), weight.reshape(weight.shape[:2]).T)
    output = np.empty((*product.shape, 1, 1), FLOAT)
    np.add(product, FLOAT.type(0) if bias is None else bias, output.reshape(product.shape))
    return output


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
    if not _suits(input, weight) or not (bias is None or is_dense(bias)):
        return None
    size, uses_winograd, _ = _plan_of_input(input.shape, weight.shape, stride, padding, dilation)
    if groups > 1:
        return _depthwise(input, weight, bias, size, (*stride, *padding, *dilation), groups)
    if input.shape[2:] == weight.shape[2:] == size == (1, 1):
        return _linear(input, weight, bias)
    if uses_winograd and _is_finite(result := winograd.convolve(input, weight, bias, padding, size, stride[0])):
        return result
    output = np.empty((len(input), len(weight), *size), FLOAT)
    kernels.convolution(output, input, weight, bias, *stride, *padding, *dilation)
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
    if not _suits(grad, input):
        return None
    if groups > 1:
        return _depthwise_weight(grad, input, shape, (*stride, *padding, *dilation), groups)
    if plan(len(input), input.shape[2:], shape, grad.shape[2:], stride, padding, dilation).uses_winograd:
        result = winograd.weight_gradient(grad, input, padding, stride[0])
        if _is_finite(result):
            return result
    grad_weight = np.empty(shape, FLOAT)
    kernels.convolution_weight(grad, input, grad_weight, None, *stride, *padding, *dilation)
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
    if not _suits(input, weight) or not (bias is None or is_dense(bias)):
        return None
    if groups > 1:
        return _depthwise_transposed(input, weight, bias, size, stride, padding, dilation, groups)
    if plan(len(input), size, weight.shape, input.shape[2:], stride, padding, dilation).transposed_uses_winograd:
        result = winograd.convolve_back(input, weight, bias, padding, size, stride[0])
        if _is_finite(result):
            return result
    output = np.empty((len(input), weight.shape[1], *size), FLOAT)
    kernels.convolution_input(output, input, weight, bias, *stride, *padding, *dilation)
    return output
