"""Layers that rearrange channels into pixels, and pixels into channels."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Enlarges images by the factor r = `upscale_factor`, rearranging r * r channels into r by r pixels.

    The r by r pixels of output channel c are, row by row, the input channels `c * r * r` to `(c + 1) * r * r - 1`.

    Shi et al., *Real-time single image and video super-resolution using an efficient sub-pixel convolutional neural
    network*, 2016.

    Args:
        upscale_factor: the factor of height and width; the call raises RuntimeError unless its square divides the number
            of channels.

    Shape:
        - Input: `(*, C * r * r, H, W)`.
        - Output: `(*, C, H * r, W * r)`.

    Example:
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
    """Shrinks images by the factor r = `downscale_factor`, rearranging r by r pixels into channels; inverts `PixelShuffle`.

    Args:
        downscale_factor: the divisor of height and width; the call raises RuntimeError unless it divides them.

    Shape:
        - Input: `(*, C, H * r, W * r)`.
        - Output: `(*, C * r * r, H, W)`.

    Example:
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
