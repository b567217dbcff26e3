"""Batch and group normalization: moments, normalization by given moments, and gradients."""

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


# --- groups -------------------------------------------------------------------------------------------------------


def _groups(input: Any, weight: Any, bias: Any, dims: Any) -> tuple[Any, Any, Any] | None:
    """Return the input as `(group of a sample, channel, position)`, and weight and bias of each channel, or their defaults.

    None unless the input is `(sample, group, *dims)`, and has a weight and bias for each channel, or none.
    """
    count, size = len(dims), input.shape[1]
    if input.ndim != count + 2 or tuple(dims) not in (tuple(range(-count, 0)), tuple(range(2, count + 2))) or not is_dense(input):
        return None
    given = [parameter for parameter in (weight, bias) if parameter is not None]
    channels = given[0].size // size if given else 1
    if any(parameter.dtype is not FLOAT or parameter.size != size * channels for parameter in given):
        return None
    if channels != 1 and channels != input.shape[2]:
        return None
    weight, bias = (
        np.full((size, channels), value, FLOAT) if parameter is None else np.ascontiguousarray(parameter).reshape(size, channels)
        for parameter, value in ((weight, 1), (bias, 0))
    )
    return input.reshape(len(input) * size, channels, -1), weight, bias


@fast(LEAST)
def group_norm(input: Any, weight: Any, bias: Any, mean: Any, variance: Any, dims: Any, eps: float, workspace: Any) -> Any:
    arguments = _groups(input, weight, bias, dims)
    if arguments is None:
        return None
    groups, weight, bias = arguments
    count, channels, places = groups.shape
    means, variances = np.empty((2, count), FLOAT)
    kernels.moments(means, variances, groups.reshape(1, count, -1))
    variances += 0 * variances  # NaN, not infinity, if they overflow
    if workspace is not None:
        workspace["group moments"] = means, _scale(variances, eps)
    output = np.empty(input.shape, FLOAT)
    parameters = [np.tile(parameter.reshape(-1), len(input)) for parameter in (weight, bias)]
    parameters += [np.repeat(moment, channels) for moment in (means, variances)]
    rows = count * channels, places
    kernels.normalized_channels(output.reshape(rows), groups.reshape(rows), *parameters, eps, rows[0])
    return output


def _group_norm_backward(g: Any, input: Any, weight: Any, bias: Any, dims: Any, moments: Any) -> Any:
    arguments = _groups(input, weight, bias, dims)
    if arguments is None or not is_dense(g):
        return None
    groups, weights, _ = arguments
    grad_input, grad_parameters = np.empty(input.shape, FLOAT), np.empty((2, *groups.shape[:2]), FLOAT)
    kernels.group_norm_backward(
        *grad_parameters, grad_input.reshape(groups.shape), g.reshape(groups.shape), groups, *moments, weights
    )
    grad_weight, grad_bias = grad_parameters.reshape(2, len(input), -1).sum(1)
    return (
        grad_input,
        None if weight is None else grad_weight.reshape(weight.shape),
        None if bias is None else grad_bias.reshape(bias.shape),
    )


@fast(LEAST)
def norm_backward(
    g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, dims: Any, eps: float, workspace: Any
) -> Any:
    if mean is None and workspace and "group moments" in workspace:
        return _group_norm_backward(g, input, weight, bias, dims, workspace["group moments"])
    if mean is None:
        return layer_norm_backward(g, input, weight, bias, dims, workspace)
    return _backward(g, input, weight, bias, mean, variance, eps, fixed=False)


@fast(LEAST)
def fixed_norm_backward(g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    return _backward(g, input, weight, bias, mean, variance, eps, fixed=True)
