"""Fusion of convolution or linear layers with the batch normalization after them, for evaluation."""

from __future__ import annotations

import copy
from typing import TypeVar

import flambeau as torch
from flambeau import Tensor

from ..modules.module import Module
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

Layer = TypeVar("Layer", bound=Module)


def fuse_conv_bn_eval(conv: Layer, bn: Module, transpose: bool = False) -> Layer:
    """Fuse a convolution and the batch normalization after it into one convolution, equivalent to `bn(conv(x))`.

    Args:
        conv: the convolution.
        bn: the batch normalization that follows it, with running statistics.
        transpose: whether `conv` is a transposed convolution.

    Returns:
        a copy of `conv` with the fused weight and bias.

    Raises:
        AssertionError: one of the two is in training mode, or `bn` has no running statistics.

    Example:
        >>> conv, norm = torch.nn.Conv2d(1, 2, 3).eval(), torch.nn.BatchNorm2d(2).eval()
        >>> image = torch.randn(1, 1, 5, 5)
        >>> torch.allclose(fuse_conv_bn_eval(conv, norm)(image), norm(conv(image)), atol=1e-5)
        True
    """
    check_fusible(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution fused with the batch normalization after it.

    Args:
        conv_w, conv_b: weight and bias of the convolution; None for no bias.
        bn_rm, bn_rv: running mean and running variance of the normalization, one for each output channel.
        bn_eps: the `eps` that the normalization adds to the variance.
        bn_w, bn_b: weight and bias of the normalization, one for each output channel; None for 1 and 0.
        transpose: whether the convolution is a transposed one, whose weight has the outputs in dimension 1.

    Returns:
        the fused weight, of the shape of `conv_w`, and the fused bias, as parameters.

    Example:
        >>> one, zero = torch.ones(1), torch.zeros(1)
        >>> weight, bias = fuse_conv_bn_weights(torch.ones(1, 1, 1, 1), None, 3 * one, 4 * one, 0.0, one, zero)
        >>> weight.flatten().tolist(), bias.tolist()
        ([0.5], [-1.5])
    """
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return fuse(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Layer, bn: Module) -> Layer:
    """Fuse a linear layer and the batch normalization after it into one linear layer, equivalent to `bn(linear(x))`.

    Args:
        linear: the linear layer.
        bn: the batch normalization that follows it, with running statistics and `linear.out_features` features, or one.

    Returns:
        a copy of `linear` with the fused weight and bias.

    Raises:
        AssertionError: one of the two is in training mode, `bn` has no running statistics, or the features do not fit.

    Example:
        >>> linear, norm = torch.nn.Linear(2, 3).eval(), torch.nn.BatchNorm1d(3).eval()
        >>> x = torch.randn(4, 2)
        >>> torch.allclose(fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-5)
        True
    """
    check_fusible(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer fused with the batch normalization after it.

    Args:
        linear_w, linear_b: weight and bias of the linear layer; None for no bias.
        bn_rm, bn_rv: running mean and running variance of the normalization, one for each output feature.
        bn_eps: the `eps` that the normalization adds to the variance.
        bn_w, bn_b: weight and bias of the normalization, one for each output feature; None for 1 and 0.

    Returns:
        the fused weight, of the shape of `linear_w`, and the fused bias, as parameters.

    Example:
        >>> one, zero = torch.ones(1), torch.zeros(1)
        >>> weight, bias = fuse_linear_bn_weights(torch.ones(1, 2), None, 3 * one, 4 * one, 0.0, one, zero)
        >>> weight.tolist(), bias.tolist()
        ([[0.5, 0.5]], [-1.5])
    """
    return fuse(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fuse(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    """Return the fused weight and bias; `shape` makes per-output vectors broadcastable to the weight."""
    factor = torch.rsqrt(var + eps)
    if scale is not None:
        factor = factor * scale
    fused_bias = -mean * factor if bias is None else (bias - mean) * factor
    if shift is not None:
        fused_bias = fused_bias + shift
    return (
        Parameter((weight * factor.reshape(shape)).to(weight.dtype), weight.requires_grad),
        Parameter(fused_bias.to(weight.dtype if bias is None else bias.dtype), bias is not None and bias.requires_grad),
    )


def check_fusible(layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
