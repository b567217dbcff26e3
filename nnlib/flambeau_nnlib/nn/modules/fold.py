"""Layers that take images apart into blocks, and put them together."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]

Size = int | Sequence[int]


class Unfold(Module):
    """The blocks that a convolution of this kernel would look at, as columns.

    Shape: input `(N, C, H, W)` or `(C, H, W)`, output `(N, C * prod(kernel_size), L)` or without N, for L blocks.

    >>> import flambeau as torch
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
    """Puts the columns that `Unfold` made back into images of size `output_size`, adding where blocks overlap.

    Shape: input `(N, C * prod(kernel_size), L)` or without N, output `(N, C, *output_size)` or without N.

    >>> import flambeau as torch
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
