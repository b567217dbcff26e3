"""Batch normalization: moments, normalization by given moments, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .kernels import kernels
from .rows import layer_norm_backward

LEAST = 1 << 12


def _images(input: Any) -> Any:
    """Reshape the input to `(sample, channel, position)`."""
    return input.reshape(*input.shape[:2], -1)


@fast(LEAST)
def moments(input: Any, dims: Any) -> Any:
    if tuple(dims) != (0, *range(2, input.ndim)) or input.ndim < 3 or not is_dense(input):
        return None
    statistics = np.empty((2, input.shape[1]), FLOAT)
    kernels.moments(*statistics, _images(input))
    shape = (1, -1, *(1,) * (input.ndim - 2))
    return statistics[0].reshape(shape), statistics[1].reshape(shape)


def _scale(variance: Any, eps: float) -> Any:
    """Compute `1 / sqrt(variance + eps)` for each channel."""
    return 1 / np.sqrt(variance.reshape(-1) + FLOAT.type(eps))


def _fits(input: Any, *parameters: Any) -> bool:
    channels = input.shape[1] if input.ndim > 2 else -1
    return is_dense(input) and all(
        parameter is None or (parameter.dtype is FLOAT and parameter.size == channels) for parameter in parameters
    )


def _affine(
    input: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    variance: Any = None,
    dims: Any = (),
    eps: float = 0.0,
    workspace: Any = None,
) -> Any:
    if mean is None or not _fits(input, weight, bias, mean, variance):
        return None
    output = np.empty(input.shape, FLOAT)
    batch, channels = input.shape[:2]
    rows = (batch * channels, -1)
    parameters = weight, bias, mean, variance, eps, channels
    kernels.normalized_channels(output.reshape(rows), input.reshape(rows), *parameters)
    return output


@fast(LEAST)
def batch_norm(*args: Any) -> Any:
    return _affine(*args)


@fast(LEAST)
def fixed_norm(*args: Any) -> Any:
    return _affine(*args)


def _backward(g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float, fixed: bool) -> Any:
    if not _fits(input, weight, mean, variance) or not is_dense(g):
        return None
    scale = _scale(variance, eps)
    factor = scale if weight is None else scale * weight.reshape(-1)
    grad_input, grad_parameters = np.empty(input.shape, FLOAT), np.empty((2, input.shape[1]), FLOAT)
    kernels.norm_backward(
        *grad_parameters,
        _images(grad_input),
        _images(g),
        _images(input),
        np.ascontiguousarray(mean).reshape(-1),
        scale,
        factor,
        fixed,
    )
    return (
        grad_input,
        None if weight is None else grad_parameters[0].reshape(weight.shape),
        None if bias is None else grad_parameters[1].reshape(bias.shape),
    )


@fast(LEAST)
def norm_backward(
    g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, dims: Any, eps: float, workspace: Any
) -> Any:
    if mean is None:
        return layer_norm_backward(g, input, weight, bias, dims, workspace)
    return _backward(g, input, weight, bias, mean, variance, eps, fixed=False)


@fast(LEAST)
def fixed_norm_backward(g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    return _backward(g, input, weight, bias, mean, variance, eps, fixed=True)
