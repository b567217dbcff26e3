"""Gradients of convolutions with respect to input and weight, given the gradient of the output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _make_input_gradient(name: str) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        with torch.enable_grad():
            input = grad_output.new_zeros(input_size).requires_grad_()
            output = getattr(torch, name)(input, weight, None, stride, padding, dilation, groups)
        (found,) = torch.autograd.grad(output, input, grad_output, create_graph=torch.is_grad_enabled())
        result: Tensor = found
        return result

    gradient.__name__ = gradient.__qualname__ = f"{name}_input"
    gradient.__doc__ = f"The gradient of the input, of this size, of a `{name}`."
    return gradient


def _make_weight_gradient(name: str) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        with torch.enable_grad():
            weight = grad_output.new_zeros(weight_size).requires_grad_()
            output = getattr(torch, name)(input, weight, None, stride, padding, dilation, groups)
        (found,) = torch.autograd.grad(output, weight, grad_output, create_graph=torch.is_grad_enabled())
        result: Tensor = found
        return result

    gradient.__name__ = gradient.__qualname__ = f"{name}_weight"
    gradient.__doc__ = f"The gradient of the weight, of this size, of a `{name}`."
    return gradient


conv1d_input, conv1d_weight = _make_input_gradient("conv1d"), _make_weight_gradient("conv1d")
conv2d_input, conv2d_weight = _make_input_gradient("conv2d"), _make_weight_gradient("conv2d")
conv3d_input, conv3d_weight = _make_input_gradient("conv3d"), _make_weight_gradient("conv3d")
