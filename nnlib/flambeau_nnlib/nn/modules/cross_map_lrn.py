"""The autograd function behind the layer `nn.CrossMapLRN2d`."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd.function import once_differentiable

__all__ = ["CrossMapLRN2d"]


def _sum_over_window(values: Tensor, window: Tensor) -> Tensor:
    """For each channel, sum the values of the channels that are True in its row of `window`."""
    return torch.einsum("cj,njhw->nchw", window.to(values.dtype), values)


class CrossMapLRN2d(torch.autograd.Function):
    """The autograd function of the layer `nn.CrossMapLRN2d`.

    Its gradient reproduces PyTorch's, which is not exactly the derivative of the forward: the window of channels that it
    sums over is shifted down by one channel.
    """

    @staticmethod
    def forward(ctx: Any, input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channel = torch.arange(input.size(1), device=input.device)
        distance = channel.unsqueeze(1) - channel
        radius = (size - 1) // 2
        scale = k + alpha / size * _sum_over_window(
            input * input, (distance.abs() <= radius) | ((channel == 0) & (distance > radius))
        )
        output = input * scale**-beta
        earliest = min((size + 1) // 2, size - 1)
        ctx.save_for_backward(input, output, scale, (distance <= earliest) & (distance > earliest - size))
        ctx.beta, ctx.factor = beta, 2 * alpha * beta / size
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        input, output, scale, window = ctx.saved_tensors
        grad_input = gradient * scale**-ctx.beta - ctx.factor * input * _sum_over_window(gradient * output / scale, window)
        return grad_input, None, None, None, None
