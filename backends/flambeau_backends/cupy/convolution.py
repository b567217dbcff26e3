"""Convolution by cuDNN, or by im2col: one matrix product over all windows of a group."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as places
from math import prod
from typing import Any

import cupy

from flambeau import backends

from . import dnn
from .kernels import kernel
from .matrix import product

__all__ = ["convolution", "convolution_transposed", "convolution_weight"]

Sizes = Sequence[int]


def _padded(input: Any, padding: Sizes) -> Any:
    return cupy.pad(input, ((0, 0), (0, 0), *((p, p) for p in padding))) if any(padding) else cupy.ascontiguousarray(input)


def _windows(input: Any, window: Sizes, stride: Sizes, dilation: Sizes, size: Sizes) -> Any:
    """View a padded input as windows of shape `(batch, channels, *kernel, *output)`."""
    batch, channel, *space = input.strides
    inside = [step * d for step, d in zip(space, dilation, strict=True)]
    between = [step * s for step, s in zip(space, stride, strict=True)]
    shape = (*input.shape[:2], *window, *size)
    return cupy.lib.stride_tricks.as_strided(input, shape, (batch, channel, *inside, *between))


def _columns(input: Any, groups: int, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    """Return the windows as matrix columns: `(batch * groups, channels per group * kernel elements, output positions)`."""
    seen = _windows(_padded(input, padding), window, stride, dilation, size)
    batch, channels = input.shape[:2]
    return seen.reshape(batch * groups, channels // groups * prod(window), prod(size))


def _product(a: Any, b: Any) -> Any:
    return product(a, b, backends.cudnn.allow_tf32)


@kernel
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
    window, batch, outputs = weight.shape[2:], input.shape[0], weight.shape[0]
    size = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(input.shape[2:], window, stride, padding, dilation, strict=True)
    )
    output = dnn.convolution(input, weight, (batch, outputs, *size), stride, padding, dilation)
    if output is None:
        columns = _columns(input, groups, window, stride, padding, dilation, size)
        rows = weight.reshape(1, groups, outputs // groups, -1)
        rows = cupy.broadcast_to(rows, (batch, *rows.shape[1:])).reshape(batch * groups, *rows.shape[2:])
        output = _product(rows, columns).reshape(batch, outputs, *size)
    return output if bias is None else output + bias.reshape(-1, *(1,) * len(size))


@kernel
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
    grad_weight = dnn.convolution_weight(grad, input, shape, stride, padding, dilation)
    if grad_weight is not None:
        return grad_weight
    batch, outputs = grad.shape[:2]
    columns = _columns(input, groups, shape[2:], stride, padding, dilation, grad.shape[2:])
    grads = grad.reshape(batch * groups, outputs // groups, prod(grad.shape[2:]))
    products = _product(grads, columns.swapaxes(1, 2))
    return products.reshape(batch, *shape).sum(0)


@kernel
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
    output = dnn.convolution_transposed(
        input, weight, (input.shape[0], weight.shape[1] * groups, *size), stride, padding, dilation
    )
    if output is None:
        output = _transposed_by_products(input, weight, size, stride, padding, dilation, groups)
    return output if bias is None else output + bias.reshape(-1, *(1,) * len(size))


def _transposed_by_products(
    input: Any, weight: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    """Compute the transposed convolution by matrix products, adding their columns to the windows of the result (col2im)."""
    batch, channels = input.shape[:2]
    window, outputs = weight.shape[2:], weight.shape[1] * groups
    rows = weight.reshape(1, groups, channels // groups, -1)
    rows = cupy.broadcast_to(rows, (batch, *rows.shape[1:])).reshape(batch * groups, *rows.shape[2:])
    spread = _product(rows.swapaxes(1, 2), input.reshape(batch * groups, channels // groups, prod(input.shape[2:])))
    spread = spread.reshape(batch, outputs, *window, *input.shape[2:])
    padded = cupy.zeros((batch, outputs, *(n + 2 * p for n, p in zip(size, padding, strict=True))), spread.dtype)
    seen = _windows(padded, window, stride, dilation, input.shape[2:])
    for place in places(*map(range, window)):
        seen[(slice(None), slice(None), *place)] += spread[(slice(None), slice(None), *place)]
    return cupy.ascontiguousarray(padded[(..., *(slice(p, p + n) for p, n in zip(padding, size, strict=True)))])
