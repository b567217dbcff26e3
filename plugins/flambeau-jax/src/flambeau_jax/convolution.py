"""Convolutions by XLA's convolution operation. Gradients are computed by its linear transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from flambeau.extension import forward_of

from .compiled import Compiled

__all__ = ["CONVOLUTIONS"]

Sizes = Sequence[int]
CONVOLUTIONS: dict[str, Callable[..., Any]] = {}


def _kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    CONVOLUTIONS[function.__name__] = Compiled(function.__name__, function)
    return function


@_kernel
def convolution(
    input: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, workspace: Any = None
) -> Any:
    return _with_bias(_along(stride, padding, dilation, groups)(input, weight), bias)


@_kernel
def convolution_transposed(
    input: Any, weight: Any, bias: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    if not jnp.issubdtype(input.dtype, jnp.inexact):  # JAX transposes only floating-point functions
        return forward_of("convolution_transposed")(jnp, input, weight, bias, size, stride, padding, dilation, groups)
    convolve, shape = _along(stride, padding, dilation, groups), (input.shape[0], weight.shape[1] * groups, *size)
    return _with_bias(_transposed(lambda x: convolve(x, weight), input, shape), bias)


@_kernel
def convolution_weight(
    grad: Any, input: Any, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, workspace: Any = None
) -> Any:
    convolve = _along(stride, padding, dilation, groups)
    return _transposed(lambda weight: convolve(input, weight), grad, shape)


def _along(stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Callable[[Any, Any], Any]:
    """Return a function that convolves an input with a weight, using these strides, paddings, dilations and groups."""

    def convolve(input: Any, weight: Any) -> Any:
        return jax.lax.conv_general_dilated(
            input, weight, stride, [(p, p) for p in padding], rhs_dilation=dilation, feature_group_count=groups
        )

    return convolve


def _transposed(function: Callable[[Any], Any], grad: Any, shape: Sizes) -> Any:
    """Return the gradient of a linear function's argument. The output's gradient `grad` is padded with zeros to its shape."""
    argument = jax.ShapeDtypeStruct(tuple(shape), grad.dtype)
    lengths = jax.eval_shape(function, argument).shape
    grad = jnp.pad(grad, [(0, length - n) for length, n in zip(lengths, grad.shape, strict=True)])
    return jax.linear_transpose(function, argument)(grad)[0]


def _with_bias(output: Any, bias: Any) -> Any:
    return output if bias is None else output + bias.reshape(-1, *(1,) * (output.ndim - 2))
