"""Normalization: CuPy's reductions for the statistics and one fused kernel for the rest; layer norm by cuDNN if possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy

from . import dnn
from .kernels import formula, kernel

__all__ = ["batch_norm", "fixed_norm", "group_norm", "layer_norm", "norm_backward"]

Dims = Sequence[int]

_NORMALIZE = cupy.ElementwiseKernel(
    "T input, T mean, T variance, T weight, T bias, T eps", "T out",
    "out = (input - mean) / sqrt(variance + eps) * weight + bias", "flambeau_normalize",
)  # fmt: skip
_NORM_GRADIENT = cupy.ElementwiseKernel(
    "T grad, T standard, T mean, T product, T scale", "T out", "out = (grad - mean - standard * product) * scale",
    "flambeau_norm_backward",
)  # fmt: skip


def _moments(input: Any, dims: Dims) -> tuple[Any, Any]:
    dims = tuple(dims)
    mean = input.mean(dims, keepdims=True)
    return mean, cupy.square(input - mean).mean(dims, keepdims=True)


@kernel
def moments(input: Any, dims: Dims) -> tuple[Any, Any]:
    return _moments(input, dims)


def _normalized(
    input: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    variance: Any = None,
    dims: Dims = (),
    eps: float = 0.0,
    workspace: Any = None,
) -> Any:
    if mean is None:
        mean, variance = _moments(input, dims)
    number = input.dtype.type
    weight, bias = number(1) if weight is None else weight, number(0) if bias is None else bias
    return _NORMALIZE(input, mean, variance, weight, bias, number(eps), cupy.empty(input.shape, input.dtype))


@kernel
def batch_norm(*args: Any, **kwargs: Any) -> Any:
    return _normalized(*args, **kwargs)


@kernel
def fixed_norm(*args: Any, **kwargs: Any) -> Any:
    return _normalized(*args, **kwargs)


@kernel
def group_norm(*args: Any, **kwargs: Any) -> Any:
    return _normalized(*args, **kwargs)


@kernel
def layer_norm(
    input: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    variance: Any = None,
    dims: Dims = (),
    eps: float = 0.0,
    workspace: Any = None,
) -> Any:
    outputs = None if weight is None or bias is None else dnn.layer_norm(input, weight, bias, eps)
    if outputs is None:
        return _normalized(input, weight, bias, mean, variance, dims, eps)
    if workspace is not None:
        workspace.update(mean=outputs[1], inv_variance=outputs[2])
    return outputs[0]


def _sum_to_parameter(g: Any, like: Any) -> Any:
    """Return a parameter's gradient: `g` summed over the dimensions along which the parameter was broadcast."""
    extra = g.ndim - like.ndim
    dims = (*range(extra), *(i + extra for i, n in enumerate(like.shape) if n == 1 and g.shape[i + extra] != 1))
    return (g.sum(dims, keepdims=True) if dims else g).reshape(like.shape)


@formula
def norm_backward(
    g: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, dims: Dims, eps: float, workspace: Any
) -> Any:
    if workspace:
        gradients = dnn.layer_norm_backward(g, input, weight, **workspace)
        if gradients is not None:
            return gradients
    dtype, dims = input.dtype, tuple(dims)
    if dtype.itemsize == 2:
        g, input, weight, bias = (None if array is None else array.astype("f4") for array in (g, input, weight, bias))
    mean, variance = _moments(input, dims)
    scale = 1 / cupy.sqrt(variance + input.dtype.type(eps))
    normalized = (input - mean) * scale
    scaled = g if weight is None else g * weight
    grad_input = cupy.empty(input.shape, input.dtype)
    _NORM_GRADIENT(
        scaled, normalized, scaled.mean(dims, keepdims=True), (scaled * normalized).mean(dims, keepdims=True), scale, grad_input
    )
    gradients = (
        grad_input,
        None if weight is None else _sum_to_parameter(g * normalized, weight),
        None if bias is None else _sum_to_parameter(g, bias),
    )
    return tuple(None if array is None else array.astype(dtype, copy=False) for array in gradients)
