"""Functions of layers whose backward is their own."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd.function import once_differentiable

__all__ = ["CrossMapLRN2d"]


def _summed(values: Tensor, window: Tensor) -> Tensor:
    """For each channel, the sum over those that are in its row of `window`."""
    return torch.einsum("cj,njhw->nchw", window.to(values.dtype), values)


class CrossMapLRN2d(torch.autograd.Function):
    """The function of the layer of that name.

    Its gradient is PyTorch's, so that training goes the same way; it is not quite the derivative of the result, since the
    channels that it sums over begin and end one too early.
    """

    @staticmethod
    def forward(ctx: Any, input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> Tensor:  # type: ignore[override]
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channel = torch.arange(input.size(1), device=input.device)
        distance = channel.unsqueeze(1) - channel
        reach = (size - 1) // 2
        scale = k + alpha / size * _summed(input * input, (distance.abs() <= reach) | ((channel == 0) & (distance > reach)))
        output = input * scale**-beta
        earliest = min((size + 1) // 2, size - 1)
        ctx.save_for_backward(input, output, scale, (distance <= earliest) & (distance > earliest - size))
        ctx.beta, ctx.factor = beta, 2 * alpha * beta / size
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        input, output, scale, window = ctx.saved_tensors
        made = gradient * scale**-ctx.beta - ctx.factor * input * _summed(gradient * output / scale, window)
        return made, None, None, None, None
