"""Convolution by one of four algorithms.

Most convolutions are matrix products, which BLAS computes fastest: im2col copies each window of the input to a row (`conv_rows`)
or a column (`conv_columns`) of a matrix.  `winograd` is faster for 3 x 3 kernels.  Depthwise convolutions (`depthwise`) need no
matrix product.

A convolution and the gradients of its input and weight share one `Plan`, which selects an algorithm for each.  Plans are cached
by shapes, stride, padding, dilation, groups and dtype.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from . import conv_columns, conv_rows, depthwise, winograd
from .kernels import kernel
from .layout import keeps_channels_last
from .threads import parts
from .windows import Geometry, Sizes, output_size, total

__all__ = ["Plan", "plan", "prepared", "uses_winograd"]

_KEEP = 3  # windows are saved for the weight's gradient if they take at most this many times the input's memory
uses_winograd = os.environ.get("FLAMBEAU_WINOGRAD") != "0"  # without Winograd, rounding errors are about ten times smaller


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
    geometry, algorithm, _ = _plan_of_input(input.shape, weight.shape, stride, padding, dilation, groups, input.dtype)
    return algorithm.convolve(input, weight, bias, geometry, workspace)


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
    windows = workspace.pop("windows", None) if workspace else None
    if not grad.size:
        return np.zeros(shape, grad.dtype)
    geometry, algorithm, _ = plan(
        len(input), input.shape[2:], shape, grad.shape[2:], stride, padding, dilation, groups, input.dtype
    )
    return algorithm.weight_gradient(grad, input, geometry, windows)


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
    geometry, _, algorithm = plan(len(input), size, weight.shape, input.shape[2:], stride, padding, dilation, groups, input.dtype)
    return algorithm.input_gradient(input, weight, bias, size, geometry)


# --- plans --------------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """The algorithms of a convolution and its two gradients, for one combination of shapes and options."""

    geometry: Geometry
    algorithm: Algorithm
    """Computes the convolution and the gradient of its weight."""
    transposed_algorithm: Algorithm
    """Computes the gradient of the input."""


@lru_cache(256)
def plan(
    batch: int,
    space: Sizes,
    shape: Sizes,
    size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    dtype: Any,
) -> Plan:
    """Choose the algorithms for `batch` images of size `space`, a weight of this shape and an output of size `size`."""
    geometry = Geometry(batch, shape, size, stride, padding, dilation, groups)
    if depthwise.suits(geometry):
        algorithm: Algorithm = _DEPTHWISE
    elif conv_rows.suits(geometry):
        algorithm = _ROWS
    else:
        algorithm = _COLUMNS
    may_use_winograd = uses_winograd and geometry.is_three_by_three
    if may_use_winograd and max(padding) <= 2 and winograd.suits(batch, shape, space, dtype):
        transposed_algorithm: Algorithm = _WINOGRAD
    else:
        transposed_algorithm = algorithm
    if may_use_winograd and winograd.suits(batch, shape, size, dtype):
        algorithm = _WINOGRAD
    return Plan(geometry, algorithm, transposed_algorithm)


@lru_cache(256)
def _plan_of_input(images: Sizes, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, dtype: Any) -> Plan:
    """Return the plan for input and weight shapes, with the output size computed from them."""
    size = output_size(images[2:], shape[2:], stride, padding, dilation)
    return plan(images[0], images[2:], shape, size, stride, padding, dilation, groups, dtype)


def prepared(
    images: Sizes, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Callable[[Any], Any]:
    """Return the convolution of images of this shape with a constant weight and bias, as a function of the images."""
    geometry, algorithm, _ = _plan_of_input(images, weight.shape, stride, padding, dilation, groups, weight.dtype)
    return algorithm.prepared(images[2:], weight, bias, geometry)


# --- algorithms ---------------------------------------------------------------------------------------------------


class Algorithm:
    """An algorithm for a convolution and its gradients.  `g` is the geometry of the convolution."""

    def convolve(self, input: Any, weight: Any, bias: Any, g: Geometry, workspace: Any) -> Any:
        """Return the convolution; unfolded windows may be saved in `workspace` for the weight's gradient."""
        raise NotImplementedError

    def prepared(self, space: Sizes, weight: Any, bias: Any, g: Geometry) -> Callable[[Any], Any]:
        """Return `convolve` for images of size `space` and a constant weight and bias, as a function of the images."""
        return lambda images: self.convolve(images, weight, bias, g, None)

    def weight_gradient(self, grad: Any, input: Any, g: Geometry, windows: Any) -> Any:
        """Return the gradient of the weight, given the output's gradient; `windows` are the ones saved by `convolve`, or None."""
        raise NotImplementedError

    def input_gradient(self, grad: Any, weight: Any, bias: Any, space: Sizes, g: Geometry) -> Any:
        """Return the gradient of the input with spatial shape `space`, plus `bias`."""
        raise NotImplementedError


class _Winograd(Algorithm):
    """Winograd's algorithm; `conv_columns` replaces it if a result is not finite."""

    def convolve(self, input: Any, weight: Any, bias: Any, g: Geometry, workspace: Any) -> Any:
        return self._convolve(input, weight, bias, g, workspace, None)

    def _convolve(self, input: Any, weight: Any, bias: Any, g: Geometry, workspace: Any, weights: Any) -> Any:
        result = winograd.convolve(input, weight, bias, g.padding, weights)
        return _COLUMNS.convolve(input, weight, bias, g, workspace) if result is None else result

    def prepared(self, space: Sizes, weight: Any, bias: Any, g: Geometry) -> Callable[[Any], Any]:
        weights = winograd.transformed(weight)
        return lambda images: self._convolve(images, weight, bias, g, None, weights)

    def weight_gradient(self, grad: Any, input: Any, g: Geometry, windows: Any) -> Any:
        result = winograd.weight_gradient(grad, input, g.padding)
        return _COLUMNS.weight_gradient(grad, input, g, windows) if result is None else result

    def input_gradient(self, grad: Any, weight: Any, bias: Any, space: Sizes, g: Geometry) -> Any:
        flipped = weight.swapaxes(0, 1)[:, :, ::-1, ::-1]
        result = winograd.convolve(grad, flipped, bias, [2 - p for p in g.padding])
        return _COLUMNS.input_gradient(grad, weight, bias, space, g) if result is None else result


class _Depthwise(Algorithm):
    def convolve(self, input: Any, weight: Any, bias: Any, g: Geometry, workspace: Any) -> Any:
        return depthwise.convolve(input, weight, _along_channels(bias, g), g)

    def prepared(self, space: Sizes, weight: Any, bias: Any, g: Geometry) -> Callable[[Any], Any]:
        banded, bias = depthwise.bands(space, weight, g), _along_channels(bias, g)
        return lambda images: depthwise.convolve(images, weight, bias, g, banded)

    def weight_gradient(self, grad: Any, input: Any, g: Geometry, windows: Any) -> Any:
        return depthwise.weight_gradient(grad, input, g)

    def input_gradient(self, grad: Any, weight: Any, bias: Any, space: Sizes, g: Geometry) -> Any:
        return depthwise.spread(grad, weight, _along_channels(bias, g), space, g)


class _Products(Algorithm):
    """Convolution by im2col and matrix products, for parts of the batch; `way` is the module `conv_rows` or `conv_columns`."""

    def __init__(self, way: Any) -> None:
        self._way = way

    def convolve(self, input: Any, weight: Any, bias: Any, g: Geometry, workspace: Any) -> Any:
        return self._convolve(input, self._way.matrix(weight, g), _along_channels(bias, g), g, workspace)

    def prepared(self, space: Sizes, weight: Any, bias: Any, g: Geometry) -> Callable[[Any], Any]:
        matrix, bias = self._way.matrix(weight, g), _along_channels(bias, g)
        return lambda images: self._convolve(images, matrix, bias, g, None)

    def _convolve(self, input: Any, matrix: Any, bias: Any, g: Geometry, workspace: Any) -> Any:
        way, output = self._way, np.empty((g.batch, g.shape[0], *g.size), input.dtype)
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

    def weight_gradient(self, grad: Any, input: Any, g: Geometry, windows: Any) -> Any:
        way = self._way
        if g.is_heavy and not windows:  # one large product instead of a sum of several large gradients
            unfolded, outputs = way.unfold(input, g), parts(g.shape[0], g.shape[0], g.pays)
            gradients = g.share(lambda part: way.weight_gradient(grad[:, part], unfolded, g), outputs)
            return way.to_weight(np.concatenate(gradients), g)

        def compute(task: Any) -> Any:
            part, saved = task
            return way.weight_gradient(grad[part], way.unfold(input[part], g) if saved is None else saved, g)

        tasks = windows or [(part, None) for part in g.parts]
        return way.to_weight(total(g.share(compute, tasks)), g)

    def input_gradient(self, grad: Any, weight: Any, bias: Any, space: Sizes, g: Geometry) -> Any:
        way, bias, matrix = self._way, _along_channels(bias, g), self._way.matrix(weight, g)
        grad_input = np.empty((g.batch, g.shape[1] * g.groups, *space), grad.dtype)

        def compute(part: slice) -> None:
            way.spread(grad_input[part], grad[part], matrix, g)
            if bias is not None:
                grad_input[part] += bias

        g.share(compute, g.parts)
        return grad_input


def _along_channels(bias: Any, g: Geometry) -> Any:
    """Reshape the bias to broadcast against images."""
    return None if bias is None else bias.reshape(-1, *(1,) * len(g.size))


_WINOGRAD, _DEPTHWISE, _ROWS, _COLUMNS = _Winograd(), _Depthwise(), _Products(conv_rows), _Products(conv_columns)
