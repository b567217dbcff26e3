"""Kernels with strided views and indexed assignment, which take fewer dpnp calls than the array-API forwards."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import dpnp

from flambeau.extension import Kernels, forward_of

__all__ = ["KERNELS"]

Sizes = Sequence[int]
KERNELS = kernel = Kernels()


# --- convolution: im2col and one matrix product --------------------------------------------------------------------


def _columns(image: Any, kernel: Sizes, size: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    """Return the image's windows, of shape `(batch, groups, channels per group * kernel elements, output positions)`."""
    batch, channels, *_ = image.shape
    image = dpnp.ascontiguousarray(image)
    outer, inner = image.strides[:2], image.strides[2:]
    steps = [n * d for n, d in zip(inner, dilation, strict=True)] + [n * s for n, s in zip(inner, stride, strict=True)]
    shape, memory = (batch, channels, *kernel, *size), image.get_array()
    windows = dpnp.ndarray(shape, image.dtype, buffer=memory.usm_data, offset=memory._element_offset, strides=(*outer, *steps))
    return windows.reshape(batch, groups, channels // groups * prod(kernel), prod(size))


def _padded(input: Any, before: Sizes, sizes: Sizes, steps: Sizes) -> Any:
    """Return zeros of spatial shape `sizes` with the input's elements `steps` apart, from index `before` on; crop the rest."""
    result = dpnp.zeros((*input.shape[:2], *sizes), dtype=input.dtype)
    here, there = [slice(None)] * 2, [slice(None)] * 2
    for length, start, size, step in zip(input.shape[2:], before, sizes, steps, strict=True):
        first = -(start // step) if start < 0 else 0  # index of the first element that is inside `sizes`
        last = max(first, min(length, -((start - size) // step)))
        here.append(slice(first, last))
        there.append(slice(start + first * step, start + (last - 1) * step + 1, step) if last > first else slice(0, 0))
    result[tuple(there)] = input[tuple(here)]
    return result


def _output_size(input: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, ...]:
    geometry = zip(input, kernel, stride, padding, dilation, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in geometry])


def _pad(input: Any, padding: Sizes) -> Any:
    sizes = [n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True)]
    return _padded(input, padding, sizes, [1] * len(sizes)) if any(padding) else input


@kernel
def convolution(
    input: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, workspace: Any = None
) -> Any:
    size = _output_size(input.shape[2:], weight.shape[2:], stride, padding, dilation)
    if not (input.size and weight.size and prod(size)):
        return forward_of("convolution")(dpnp, input, weight, bias, stride, padding, dilation, groups)
    columns = _columns(_pad(input, padding), weight.shape[2:], size, stride, dilation, groups)
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1)
    output = dpnp.matmul(matrix, columns).reshape(len(input), weight.shape[0], *size)
    return output if bias is None else output + bias.reshape(-1, *(1,) * len(size))


@kernel
def convolution_transposed(
    input: Any, weight: Any, bias: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    if not (input.size and weight.size and prod(size)):
        return forward_of("convolution_transposed")(dpnp, input, weight, bias, size, stride, padding, dilation, groups)
    kernel, ones = weight.shape[2:], [1] * len(size)
    around = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    before = [a - p for a, p in zip(around, padding, strict=True)]
    spread = _padded(input, before, [n + a for n, a in zip(size, around, strict=True)], stride)
    flipped = dpnp.flip(weight, axis=tuple(range(2, weight.ndim)))
    grouped = flipped.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    swapped = dpnp.swapaxes(grouped, 1, 2).reshape(groups * weight.shape[1], weight.shape[0] // groups, *kernel)
    return convolution(spread, swapped, bias, ones, [0] * len(size), dilation, groups)


@kernel
def convolution_weight(
    grad: Any, input: Any, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, workspace: Any = None
) -> Any:
    if not (grad.size and input.size and prod(shape)):
        return forward_of("convolution_weight")(dpnp, grad, input, shape, stride, padding, dilation, groups)
    columns = _columns(_pad(input, padding), shape[2:], grad.shape[2:], stride, dilation, groups)
    rows = grad.reshape(len(grad), groups, shape[0] // groups, -1)
    return dpnp.matmul(rows, dpnp.swapaxes(columns, 2, 3)).sum(axis=0).reshape(tuple(shape))


# --- indices ------------------------------------------------------------------------------------------------------


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    result = dpnp.array(input, copy=True, order="C")
    result[index] = value
    return result


@kernel
def getitem_backward(input: Any, shape: Any, index: Any) -> Any:
    result = dpnp.zeros(tuple(shape), dtype=input.dtype)
    result[index] = input
    return result


@kernel
def index_backward(input: Any, shape: Any, index: Any) -> Any:
    if input.dtype.kind not in "f" or not input.size:
        return forward_of("index_backward")(dpnp, input, shape, index)
    places = dpnp.arange(prod(shape)).reshape(tuple(shape))[index]
    sums = dpnp.bincount(places.reshape(-1), weights=input.reshape(-1), minlength=prod(shape))
    return sums.astype(input.dtype).reshape(tuple(shape))


@kernel
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    if input.dtype.kind not in "f" or not index.size:
        return forward_of("scatter_add_along")(dpnp, input, src, index, dim)
    places: Any = 0
    for axis, length in enumerate(input.shape):
        alone = [-1 if other == axis else 1 for other in range(input.ndim)]
        places = places * length + (index if axis == dim else dpnp.arange(index.shape[axis]).reshape(alone))
    terms = src[tuple(map(slice, index.shape))]
    sums = dpnp.bincount(places.reshape(-1), weights=terms.reshape(-1), minlength=input.size)
    return (input + sums.reshape(input.shape)).astype(input.dtype)
