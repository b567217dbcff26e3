"""Layers that trade channels for pixels."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Turns `(*, C * r * r, H, W)` into `(*, C, H * r, W * r)`, r being `upscale_factor`.

    Shi et al., *Real-time single image and video super-resolution using an efficient sub-pixel convolutional neural
    network*, 2016.

    >>> import flambeau as torch
    >>> torch.nn.PixelShuffle(3)(torch.randn(1, 9, 4, 4)).shape
    torch.Size([1, 1, 12, 12])
    """

    __constants__ = ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Turns `(*, C, H * r, W * r)` into `(*, C * r * r, H, W)`, r being `downscale_factor`.

    >>> import flambeau as torch
    >>> torch.nn.PixelUnshuffle(3)(torch.randn(1, 1, 12, 12)).shape
    torch.Size([1, 9, 4, 4])
    """

    __constants__ = ("downscale_factor",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
