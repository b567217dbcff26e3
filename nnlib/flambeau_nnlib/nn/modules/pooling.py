"""Pooling layers (maximum, mean or norm of windows of the input) and max unpooling."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor
from flambeau.extension import private_names

from .. import functional as F
from .adaptive_pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
from .module import Module
from .utils import _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

__getattr__ = private_names(__name__)

Size = int | Sequence[int]


class _MaxPoolNd(Module):
    __constants__ = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")
    _pool: str  # name of a function in `F`, looked up at each call because programs may replace that function

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return getattr(F, self._pool)(  # type: ignore[no-any-return]  # `getattr` returns Any
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of a sequence, channel by channel.

    Args:
        kernel_size: the length of a window.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap).
        padding: the number of elements of minus infinity added on each side; at most half of the window.
        dilation: the step from one element of a window to the next.
        return_indices: whether to also return the index of each maximum, for `MaxUnpool1d`: its position among the `L`
            elements of the channel.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, or two of them with `return_indices`, with
          `L_out = (L + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1`, rounded according to `ceil_mode`.

    Raises:
        RuntimeError: in the call, if the input has another number of dimensions, the padding is too large, or no window
            fits.

    Example:
        >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[3., 5.]])
    """

    _pool = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of an image, channel by channel.

    Args:
        kernel_size: height and width of a window, or one number for both.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap); a pair, or
            one number for both.
        padding: the number of elements of minus infinity added on each side; at most half of the window; a
            pair, or one number for both.
        dilation: the step from one element of a window to the next; a pair, or one number for both.
        return_indices: whether to also return the index of each maximum, for `MaxUnpool2d`: its position among the `H * W`
            elements of the channel.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, or two of them with `return_indices`, with
          `H_out = (H + 2 * padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) / stride[0] + 1`, rounded
          according to `ceil_mode`, and W_out the same with index 1.

    Raises:
        RuntimeError: in the call, if the input has another number of dimensions, the padding is too large, or no window
            fits.

    Example:
        >>> torch.nn.MaxPool2d(3, stride=2)(torch.randn(20, 16, 50, 32)).shape
        torch.Size([20, 16, 24, 15])
        >>> torch.nn.MaxPool2d(2, return_indices=True)(torch.arange(8.0).reshape(1, 2, 4))
        (tensor([[[5., 7.]]]), tensor([[[5, 7]]]))
    """

    _pool = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of a volume, channel by channel.

    Args:
        kernel_size: depth, height and width of a window, or one number for all.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap); three
            numbers, or one for all.
        padding: the number of elements of minus infinity added on each side; at most half of the window;
            three numbers, or one for all.
        dilation: the step from one element of a window to the next; three numbers, or one for all.
        return_indices: whether to also return the index of each maximum, for `MaxUnpool3d`: its position among the
            `D * H * W` elements of the channel.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, or two of them with `return_indices`,
          with `D_out = (D + 2 * padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) / stride[0] + 1`, rounded
          according to `ceil_mode`, and H_out and W_out the same with the other indices.

    Raises:
        RuntimeError: in the call, if the input has another number of dimensions, the padding is too large, or no window
            fits.

    Example:
        >>> torch.nn.MaxPool3d(2)(torch.randn(2, 3, 4, 6, 8)).shape
        torch.Size([2, 3, 2, 3, 4])
    """

    _pool = "max_pool3d"


class _MaxUnpoolNd(Module):
    _dims: int
    _unpool: str  # name of a function in `F`, looked up at each call because programs may replace that function

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        per_dim = _ntuple(self._dims)
        self.kernel_size = per_dim(kernel_size)
        self.stride = per_dim(kernel_size if stride is None else stride)
        self.padding = per_dim(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return getattr(F, self._unpool)(input, indices, self.kernel_size, self.stride, self.padding, output_size)  # type: ignore[no-any-return]  # `getattr` returns Any

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Inverts `MaxPool1d`: places the maxima at their original positions, with zeros elsewhere.

    Max pooling maps several input sizes to one output size; `output_size` chooses among them.

    Args:
        kernel_size: the length of a window, as for the pooling.
        stride: the stride of the pooling; None, the default, for `kernel_size`.
        padding: the padding of the pooling, on each side.

    Shape:
        - Input and indices: `(N, C, L)` or `(C, L)`; both come from `MaxPool1d` with `return_indices=True`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with `L_out = (L - 1) * stride - 2 * padding + kernel_size`; or the
          third argument of the call, `output_size`, with or without batch and channels. The call raises
          ValueError if it differs from the formula's size by the stride or more.

    Example:
        >>> values, indices = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
        >>> torch.nn.MaxUnpool1d(2)(values, indices)
        tensor([[0., 3., 0., 5.]])
    """

    _dims = 1
    _unpool = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Inverts `MaxPool2d`: places the maxima at their original positions, with zeros elsewhere.

    Max pooling maps several input sizes to one output size; `output_size` chooses among them.

    Args:
        kernel_size: height and width of a window, or one number for both, as for the pooling.
        stride: the stride of the pooling; None, the default, for `kernel_size`; a pair, or one number for both.
        padding: the padding of the pooling, on each side; a pair, or one number for both.

    Shape:
        - Input and indices: `(N, C, H, W)` or `(C, H, W)`; both come from `MaxPool2d` with `return_indices=True`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with
          `H_out = (H - 1) * stride[0] - 2 * padding[0] + kernel_size[0]`, and W_out the same with index 1; or the third
          argument of the call, `output_size`, with or without batch and channels. The call raises
          ValueError if it differs from the formula's size by the stride or more.

    Example:
        >>> image = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> values, indices = torch.nn.MaxPool2d(2, return_indices=True)(image)
        >>> torch.nn.MaxUnpool2d(2)(values, indices)
        tensor([[[0., 0.],
                 [0., 4.]]])
    """

    _dims = 2
    _unpool = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Inverts `MaxPool3d`: places the maxima at their original positions, with zeros elsewhere.

    Max pooling maps several input sizes to one output size; `output_size` chooses among them.

    Args:
        kernel_size: depth, height and width of a window, or one number for all, as for the pooling.
        stride: the stride of the pooling; None, the default, for `kernel_size`; three numbers, or one for all.
        padding: the padding of the pooling, on each side; three numbers, or one for all.

    Shape:
        - Input and indices: `(N, C, D, H, W)` or `(C, D, H, W)`; both come from `MaxPool3d` with `return_indices=True`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with
          `D_out = (D - 1) * stride[0] - 2 * padding[0] + kernel_size[0]`, and H_out and W_out the same with the other
          indices; or the third argument of the call, `output_size`, with or without batch and channels. The call
          raises ValueError if it differs from the formula's size by the stride or more.

    Example:
        >>> volume = torch.randn(1, 3, 4, 6, 9)
        >>> values, indices = torch.nn.MaxPool3d(2, return_indices=True)(volume)
        >>> torch.nn.MaxUnpool3d(2)(values, indices, output_size=volume.size()).shape
        torch.Size([1, 3, 4, 6, 9])
    """

    _dims = 3
    _unpool = "max_unpool3d"


class AvgPool1d(Module):
    """The mean of each window of a sequence, channel by channel.

    Args:
        kernel_size: the length of a window.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap).
        padding: the number of zeros added on each side; at most half of the window.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding; the mean
            ignores elements beyond the padding.
        count_include_pad: whether the means include the zeros of the padding.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with `L_out = (L + 2 * padding - kernel_size) / stride + 1`, rounded
          according to `ceil_mode`.

    Raises:
        RuntimeError: in the call, if the input has another number of dimensions, the padding is too large, or no window
            fits.

    Example:
        >>> torch.nn.AvgPool1d(3, stride=2)(torch.tensor([[1.0, 2, 3, 4, 5, 6, 7]]))
        tensor([[2., 4., 6.]])
    """

    __constants__ = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(kernel_size if stride is None else stride)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    __constants__ = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    _pool: str  # name of a function in `F`, looked up at each call because programs may replace that function

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._pool)(  # type: ignore[no-any-return]  # `getattr` returns Any
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of an image, channel by channel.

    Args:
        kernel_size: height and width of a window, or one number for both.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap); a pair, or
            one number for both.
        padding: the number of zeros added on each side; at most half of the window; a pair, or one number
            for both.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding; the mean
            ignores elements beyond the padding.
        count_include_pad: whether the means include the zeros of the padding.
        divisor_override: the divisor of the sum of each window, instead of its number of elements; not 0.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with
          `H_out = (H + 2 * padding[0] - kernel_size[0]) / stride[0] + 1`, rounded according to `ceil_mode`, and W_out the
          same with index 1.

    Raises:
        RuntimeError: in the call, if the input has another number of dimensions, the padding is too large, or no window
            fits.

    Example:
        >>> torch.nn.AvgPool2d((3, 2), stride=(2, 1))(torch.randn(20, 16, 50, 32)).shape
        torch.Size([20, 16, 24, 31])
    """

    _pool = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of a volume, channel by channel.

    Args:
        kernel_size: depth, height and width of a window, or one number for all.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap); three
            numbers, or one for all.
        padding: the number of zeros added on each side; at most half of the window; three numbers, or one
            for all.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding; the mean
            ignores elements beyond the padding.
        count_include_pad: whether the means include the zeros of the padding.
        divisor_override: the divisor of the sum of each window, instead of its number of elements; not 0.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with
          `D_out = (D + 2 * padding[0] - kernel_size[0]) / stride[0] + 1`, rounded according to `ceil_mode`, and H_out and
          W_out the same with the other indices.

    Raises:
        RuntimeError: in the call, if the input has another number of dimensions, the padding is too large, or no window
            fits.

    Example:
        >>> torch.nn.AvgPool3d(2)(torch.randn(2, 3, 4, 6, 8)).shape
        torch.Size([2, 3, 2, 3, 4])
    """

    _pool = "avg_pool3d"


class _FractionalMaxPoolNd(Module):
    __constants__ = ("kernel_size", "return_indices", "output_size", "output_ratio")
    _dims: int
    _pool: str  # name of a function in `F`, looked up at each call because programs may replace that function

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        per_dim = _ntuple(self._dims)
        self.kernel_size = per_dim(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else per_dim(output_size)
        self.output_ratio = None if output_ratio is None else per_dim(output_ratio)
        if any(size <= 0 for size in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return getattr(F, self._pool)(  # type: ignore[no-any-return]  # `getattr` returns Any
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The maximum of windows at random positions in an image, for non-integer reduction factors.

    Each step from one window to the next is about `size_in / size_out`, rounded up or down at random, separately for each
    sample and channel, in training and in evaluation.

    Graham, *Fractional max-pooling*, 2014.

    Args:
        kernel_size: height and width of a window, or one number for both.
        output_size: the spatial sizes of the output, or one number for all. Give either `output_size` or `output_ratio`.
        output_ratio: the output sizes as fractions of the input sizes, above 0 and below 1; sizes are rounded down.
        return_indices: whether to also return the index of each maximum, for `MaxUnpool2d`.
        _random_samples: numbers in [0, 1) of shape `(N, C, 2)` that determine the positions of the windows; None to draw them.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, *output_size)` or `(C, *output_size)`, or two of them with `return_indices`. The call raises
          RuntimeError if `output_size + kernel_size - 1` is above the size of the input.

    Raises:
        ValueError: both or neither of `output_size` and `output_ratio` are given, or a ratio is out of range.

    Example:
        >>> torch.nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.5))(torch.randn(2, 16, 50, 32)).shape
        torch.Size([2, 16, 25, 16])
    """

    _dims = 2
    _pool = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The maximum of windows at random positions in a volume, for non-integer reduction factors.

    Each step from one window to the next is about `size_in / size_out`, rounded up or down at random, separately for each
    sample and channel, in training and in evaluation.

    Graham, *Fractional max-pooling*, 2014.

    Args:
        kernel_size: depth, height and width of a window, or one number for all.
        output_size: the spatial sizes of the output, or one number for all. Give either `output_size` or `output_ratio`.
        output_ratio: the output sizes as fractions of the input sizes, above 0 and below 1; sizes are rounded down.
        return_indices: whether to also return the index of each maximum, for `MaxUnpool3d`.
        _random_samples: numbers in [0, 1) of shape `(N, C, 3)` that determine the positions of the windows; None to draw them.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, *output_size)` or `(C, *output_size)`, or two of them with `return_indices`. The call raises
          RuntimeError if `output_size + kernel_size` is above the size of the input.

    Raises:
        ValueError: both or neither of `output_size` and `output_ratio` are given, or a ratio is out of range.

    Example:
        >>> torch.nn.FractionalMaxPool3d(3, output_size=(2, 3, 4))(torch.randn(2, 3, 6, 8, 9)).shape
        torch.Size([2, 3, 2, 3, 4])
    """

    _dims = 3
    _pool = "fractional_max_pool3d"


class _LPPoolNd(Module):
    __constants__ = ("norm_type", "kernel_size", "stride", "ceil_mode")
    _pool: str  # name of a function in `F`, looked up at each call because programs may replace that function

    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._pool)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)  # type: ignore[no-any-return]  # `getattr` returns Any

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The p-norm `sum(x ** p) ** (1 / p)` of each window of a sequence, channel by channel.

    For p = 1 it is the sum of the window, for p = infinity the maximum of `|x|`.

    Args:
        norm_type: the order p of the norm; not 0.
        kernel_size: the length of a window.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap).
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the end.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: `(N, C, L_out)` or `(C, L_out)`, with `L_out = (L - kernel_size) / stride + 1`, rounded
          according to `ceil_mode`.

    Example:
        >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[[3.0, 4.0, 6.0, 8.0]]]))
        tensor([[[ 5., 10.]]])
    """

    _pool = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The p-norm `sum(x ** p) ** (1 / p)` of each window of an image, channel by channel.

    For p = 1 it is the sum of the window, for p = infinity the maximum of `|x|`.

    Args:
        norm_type: the order p of the norm; not 0.
        kernel_size: height and width of a window, or one number for both.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap); a pair, or
            one number for both.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the end.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`, with `H_out = (H - kernel_size[0]) / stride[0] + 1`,
          rounded according to `ceil_mode`, and W_out the same with index 1.

    Example:
        >>> torch.nn.LPPool2d(1.2, (3, 2), stride=(2, 1))(torch.rand(2, 3, 9, 8)).shape
        torch.Size([2, 3, 4, 7])
    """

    _pool = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The p-norm `sum(x ** p) ** (1 / p)` of each window of a volume, channel by channel.

    For p = 1 it is the sum of the window, for p = infinity the maximum of `|x|`.

    Args:
        norm_type: the order p of the norm; not 0.
        kernel_size: depth, height and width of a window, or one number for all.
        stride: the step from one window to the next; None, the default, for `kernel_size` (no overlap); three
            numbers, or one for all.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the end.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`, with
          `D_out = (D - kernel_size[0]) / stride[0] + 1`, rounded according to `ceil_mode`, and H_out and W_out the same with
          the other indices.

    Example:
        >>> torch.nn.LPPool3d(2, 2)(torch.rand(2, 3, 4, 6, 8)).shape
        torch.Size([2, 3, 2, 3, 4])
    """

    _pool = "lp_pool3d"
