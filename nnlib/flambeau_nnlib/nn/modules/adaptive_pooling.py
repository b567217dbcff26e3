"""Adaptive pooling: the output size is given, and window sizes are chosen to fit."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
]

OutputSize = int | None | Sequence[int | None]


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ("output_size", "return_indices")
    _pool: str  # name of a function in `F`, looked up at each call because programs may replace that function

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return getattr(F, self._pool)(input, self.output_size, self.return_indices)  # type: ignore[no-any-return]  # looked up by name

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maximum of each of `output_size` windows of a sequence of any length.

    Windows cover the input: along a dimension of size S, window i of K goes from `floor(i * S / K)` to
    `ceil((i + 1) * S / K)`.

    Args:
        output_size: the number of windows, and so the length of the output.
        return_indices: whether to also return the index of each maximum, for `MaxUnpool1d`: its position among the `L`
            elements of the channel.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, output_size)` or `(C, output_size)`; with `return_indices`, also the indices, of the same shape.

    Example:
        >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[3., 5.]])
    """

    _pool = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maximum of each of `output_size` windows of an image of any size.

    Windows cover the input: along a dimension of size S, window i of K goes from `floor(i * S / K)` to
    `ceil((i + 1) * S / K)`.

    Args:
        output_size: height and width of the output, or one number for both; None keeps the input's size.
        return_indices: whether to also return the index of each maximum, for `MaxUnpool2d`: its position among the `H * W`
            elements of the channel.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, *output_size)` or `(C, *output_size)`; with `return_indices`, also the indices, of the same shape.

    Example:
        >>> torch.nn.AdaptiveMaxPool2d((None, 7))(torch.randn(1, 64, 10, 9)).shape
        torch.Size([1, 64, 10, 7])
    """

    _pool = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maximum of each of `output_size` windows of a volume of any size.

    Windows cover the input: along a dimension of size S, window i of K goes from `floor(i * S / K)` to
    `ceil((i + 1) * S / K)`.

    Args:
        output_size: depth, height and width of the output, or one number for all; None keeps the input's size.
        return_indices: whether to also return the index of each maximum, for `MaxUnpool3d`: its position among the
            `D * H * W` elements of the channel.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, *output_size)` or `(C, *output_size)`; with `return_indices`, also the indices, of the same shape.

    Example:
        >>> torch.nn.AdaptiveMaxPool3d((2, None, 3))(torch.randn(1, 4, 8, 9, 7)).shape
        torch.Size([1, 4, 2, 9, 3])
    """

    _pool = "adaptive_max_pool3d"


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ("output_size",)
    _pool: str  # name of a function in `F`, looked up at each call because programs may replace that function

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._pool)(input, self.output_size)  # type: ignore[no-any-return]  # looked up by name

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` windows of a sequence of any length.

    Windows cover the input: along a dimension of size S, window i of K goes from `floor(i * S / K)` to
    `ceil((i + 1) * S / K)`.

    Args:
        output_size: the number of windows, and so the length of the output.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, output_size)` or `(C, output_size)`.

    Example:
        >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[2.0000, 3.5000]])
    """

    _pool = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` windows of an image of any size.

    Windows cover the input: along a dimension of size S, window i of K goes from `floor(i * S / K)` to
    `ceil((i + 1) * S / K)`.

    Args:
        output_size: height and width of the output, or one number for both; None keeps the input's size.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, *output_size)` or `(C, *output_size)`.

    Example:
        >>> torch.nn.AdaptiveAvgPool2d((5, 7))(torch.randn(1, 64, 8, 9)).shape
        torch.Size([1, 64, 5, 7])
        >>> torch.nn.AdaptiveAvgPool2d((None, 7))(torch.randn(1, 64, 10, 9)).shape
        torch.Size([1, 64, 10, 7])
    """

    _pool = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` windows of a volume of any size.

    Windows cover the input: along a dimension of size S, window i of K goes from `floor(i * S / K)` to
    `ceil((i + 1) * S / K)`.

    Args:
        output_size: depth, height and width of the output, or one number for all; None keeps the input's size.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, *output_size)` or `(C, *output_size)`.

    Example:
        >>> torch.nn.AdaptiveAvgPool3d(2)(torch.randn(1, 4, 8, 9, 7)).shape
        torch.Size([1, 4, 2, 2, 2])
    """

    _pool = "adaptive_avg_pool3d"
