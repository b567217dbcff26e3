"""Layers that extract blocks from images, and sum blocks to images."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]

Size = int | Sequence[int]


class Unfold(Module):
    """Extracts the blocks of images that a convolution kernel of this size covers (im2col), each flattened to a column.

    A convolution is the product of its flattened weight with these columns.

    Args:
        kernel_size: height and width of a block, or one number for both.
        dilation: the step from one pixel of a block to the next.
        padding: the number of zeros that are first added on each side of the image.
        stride: the step from one block to the next.

    All four are one number, or a pair for height and width. The call raises RuntimeError if no block fits.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C * prod(kernel_size), L)` or without N, for L blocks: the product over height and width of
          `(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`.

    Example:
        >>> torch.nn.Unfold(kernel_size=(2, 3))(torch.randn(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    __constants__ = ("kernel_size", "dilation", "padding", "stride")

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Sums blocks, given as columns, into images (col2im): overlapping blocks are added.

    It inverts `Unfold` if blocks do not overlap and cover the image; otherwise, divide by `fold(unfold(ones))`.

    Args:
        output_size: height and width of the images, without padding.
        kernel_size: height and width of a block.
        dilation: the step from one pixel of a block to the next.
        padding: the padding of the blocks' positions on each side of the image; elements in it are dropped.
        stride: the step from one block to the next.

    All five are one number, or a pair for height and width.

    Shape:
        - Input: `(N, C * prod(kernel_size), L)` or without N; RuntimeError unless L is the number of blocks that `Unfold`
          finds in an image of this size.
        - Output: `(N, C, *output_size)` or without N.

    Example:
        >>> torch.nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(torch.randn(1, 12, 12)).shape
        torch.Size([1, 3, 4, 5])
    """

    __constants__ = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
