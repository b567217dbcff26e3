"""Convolution, by one of four algorithms.

Most convolutions are matrix products, which BLAS is best at: every window of the input is copied into the rows (`conv_rows`) or
the columns (`conv_columns`) of a matrix.  3 x 3 kernels use the faster `winograd`; depthwise convolutions (`depthwise`) need no
matrix product at all.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

import numpy as np

from . import conv_columns, conv_rows, depthwise, winograd
from .kernels import kernel
from .layout import keeps_channels_last
from .threads import parts
from .windows import Geometry, Sizes, geometry, geometry_of, total

_KEEP = 3  # the forward saves the unfolded windows for the weight's gradient if they are at most this many times the input
_EXACT = os.environ.get("FLAMBEAU_WINOGRAD") == "0"  # Winograd's rounding errors are about ten times as large


# --- the three operations -----------------------------------------------------------------------------------------


@kernel
@keeps_channels_last
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
    g = geometry_of(input.shape, weight.shape, stride, padding, dilation, groups)
    if _by_winograd(input, g, g.size):
        return winograd.convolve(input, weight, bias, padding)
    bias = _along_channels(bias, g)
    if depthwise.suits(g):
        return depthwise.convolve(input, weight, bias, g)
    return _convolve(_way(g), input, weight, bias, g, workspace)


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
    saved = workspace.pop("windows", None) if workspace else None
    g = geometry(len(input), shape, grad.shape[2:], stride, padding, dilation, groups)
    if not grad.size:
        return np.zeros(shape, grad.dtype)
    if _by_winograd(input, g, g.size):
        return winograd.weight_gradient(grad, input, padding)
    if depthwise.suits(g):
        return depthwise.weight_gradient(grad, input, g)
    return _weight_gradient(_way(g), grad, input, g, saved)


@kernel
@keeps_channels_last
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
    g = geometry(len(input), weight.shape, input.shape[2:], stride, padding, dilation, groups)
    if max(padding) <= 2 and _by_winograd(input, g, size):
        return winograd.convolve(input, weight.swapaxes(0, 1)[:, :, ::-1, ::-1], bias, [2 - p for p in padding])
    bias = _along_channels(bias, g)
    if depthwise.suits(g):
        return depthwise.spread(input, weight, bias, size, g)
    return _spread(_way(g), input, weight, bias, size, g)


def _by_winograd(input: Any, g: Geometry, size: Sizes) -> bool:
    return g.is_three_by_three and not _EXACT and winograd.suits(input.shape, g.shape, size, input.dtype)


def _along_channels(bias: Any, g: Geometry) -> Any:
    """The bias in the shape that broadcasts against images."""
    return None if bias is None else bias.reshape(-1, *(1,) * len(g.size))


# --- by products of matrices, a part of the batch at a time -------------------------------------------------------


def _way(g: Geometry) -> ModuleType:
    return conv_rows if conv_rows.suits(g) else conv_columns


def _convolve(way: Any, input: Any, weight: Any, bias: Any, g: Geometry, workspace: Any) -> Any:
    matrix = way.matrix(weight, g)
    output = np.empty((g.batch, g.shape[0], *g.size), input.dtype)
    keep = workspace is not None and g.batch * g.elements <= _KEEP * input.size and input.dtype.kind != "c"

    def compute(part: slice) -> tuple[slice, Any]:
        windows, out = way.unfold(input[part], g), output[part]
        way.multiply(out, windows, matrix, g)
        if bias is not None:
            out += bias
        return part, windows if keep else None

    windows = [compute(slice(None))] if g.is_light else g.share(compute, g.parts)
    if keep:
        workspace["windows"] = windows
    return output


def _weight_gradient(way: Any, grad: Any, input: Any, g: Geometry, saved: Any) -> Any:
    if g.is_heavy and not saved:  # one large product, rather than a sum of several weight gradients
        windows, outputs = way.unfold(input, g), parts(g.shape[0], g.shape[0], g.pays)
        gradients = g.share(lambda part: way.weight_gradient(grad[:, part], windows, g), outputs)
        return way.to_weight(np.concatenate(gradients), g)

    def compute(task: Any) -> Any:
        part, windows = task
        return way.weight_gradient(grad[part], way.unfold(input[part], g) if windows is None else windows, g)

    tasks = saved or [(part, None) for part in g.parts]
    return way.to_weight(total(g.share(compute, tasks)), g)


def _spread(way: Any, grad: Any, weight: Any, bias: Any, space: Sizes, g: Geometry) -> Any:
    matrix = way.matrix(weight, g)
    grad_input = np.empty((g.batch, g.shape[1] * g.groups, *space), grad.dtype)

    def compute(part: slice) -> None:
        way.spread(grad_input[part], grad[part], matrix, g)
        if bias is not None:
            grad_input[part] += bias

    g.share(compute, g.parts)
    return grad_input
