"""Pooling layers: each output is the maximum or a mean of a window of the input."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor

from .. import functional as F
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

Size = int | Sequence[int]
OutputSize = int | None | Sequence[int | None]


class _MaxPoolNd(Module):
    __constants__ = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")

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
        return self._pool(
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
    """The maximum of each window of a sequence; with `return_indices`, also where it was, for `MaxUnpool1d`.

    Shape: input `(N, C, L)` or `(C, L)`, output `(N, C, L_out)` or `(C, L_out)`, with
    L_out = (L + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1, rounded down, or up if `ceil_mode`.
    `stride` is `kernel_size` by default.

    >>> import flambeau as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
    tensor([[3., 5.]])
    """

    _pool = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of an image.

    Shape: input `(N, C, H, W)` or `(C, H, W)`, output `(N, C, H_out, W_out)` or without N, sizes as in `MaxPool1d`.

    >>> import flambeau as torch
    >>> torch.nn.MaxPool2d(3, stride=2)(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 15])
    """

    _pool = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of a volume.

    Shape: input `(N, C, D, H, W)` or without N, output `(N, C, D_out, H_out, W_out)`, sizes as in `MaxPool1d`.

    >>> import flambeau as torch
    >>> torch.nn.MaxPool3d(2)(torch.randn(2, 3, 4, 6, 8)).shape
    torch.Size([2, 3, 2, 3, 4])
    """

    _pool = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    _dims: int

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        per_dim = _ntuple(self._dims)
        self.kernel_size = per_dim(kernel_size)
        self.stride = per_dim(kernel_size if stride is None else stride)
        self.padding = per_dim(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the values that `MaxPool1d` kept back to where they were, and zeros elsewhere.

    Shape: input and indices `(N, C, L)` or `(C, L)`, output `(N, C, L_out)` or `(C, L_out)`, with
    L_out = (L - 1) * stride - 2 * padding + kernel_size, or as given by `output_size`.

    >>> import flambeau as torch
    >>> values, indices = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
    >>> torch.nn.MaxUnpool1d(2)(values, indices)
    tensor([[0., 3., 0., 5.]])
    """

    _dims = 1
    _unpool = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the values that `MaxPool2d` kept back to where they were, and zeros elsewhere; see `MaxUnpool1d`.

    Shape: input and indices `(N, C, H, W)` or `(C, H, W)`, output `(N, C, H_out, W_out)` or without N.
    """

    _dims = 2
    _unpool = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the values that `MaxPool3d` kept back to where they were, and zeros elsewhere; see `MaxUnpool1d`.

    Shape: input and indices `(N, C, D, H, W)` or without N, output `(N, C, D_out, H_out, W_out)` or without N.
    """

    _dims = 3
    _unpool = staticmethod(F.max_unpool3d)


class AvgPool1d(Module):
    """The mean of each window of a sequence; the padding counts unless `count_include_pad` is false.

    Shape: input `(N, C, L)` or `(C, L)`, output `(N, C, L_out)` or `(C, L_out)`, with
    L_out = (L + 2 * padding - kernel_size) / stride + 1, rounded down, or up if `ceil_mode`.

    >>> import flambeau as torch
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
        return self._pool(
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
    """The mean of each window of an image, or its sum divided by `divisor_override`.

    Shape: input `(N, C, H, W)` or `(C, H, W)`, output `(N, C, H_out, W_out)` or without N, sizes as in `AvgPool1d`.

    >>> import flambeau as torch
    >>> torch.nn.AvgPool2d((3, 2), stride=(2, 1))(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 31])
    """

    _pool = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of a volume, or its sum divided by `divisor_override`.

    Shape: input `(N, C, D, H, W)` or without N, output `(N, C, D_out, H_out, W_out)`, sizes as in `AvgPool1d`.

    >>> import flambeau as torch
    >>> torch.nn.AvgPool3d(2)(torch.randn(2, 3, 4, 6, 8)).shape
    torch.Size([2, 3, 2, 3, 4])
    """

    _pool = staticmethod(F.avg_pool3d)


class _FractionalMaxPoolNd(Module):
    __constants__ = ("kernel_size", "return_indices", "output_size", "output_ratio")
    _dims: int

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
        return self._pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The maximum of windows at random steps, which reach the output size, or ratio, asked for.

    Shape: input `(N, C, H, W)` or `(C, H, W)`, output `(N, C, *output_size)` or without N.
    Graham, *Fractional max-pooling*, 2014.

    >>> import flambeau as torch
    >>> torch.nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.5))(torch.randn(2, 16, 50, 32)).shape
    torch.Size([2, 16, 25, 16])
    """

    _dims = 2
    _pool = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The maximum of windows at random steps; see `FractionalMaxPool2d`.

    Shape: input `(N, C, D, H, W)` or without N, output `(N, C, *output_size)` or without N.

    >>> import flambeau as torch
    >>> torch.nn.FractionalMaxPool3d(3, output_size=(2, 3, 4))(torch.randn(2, 3, 6, 8, 9)).shape
    torch.Size([2, 3, 2, 3, 4])
    """

    _dims = 3
    _pool = staticmethod(F.fractional_max_pool3d)


class _LPPoolNd(Module):
    __constants__ = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The p-norm `(sum of x ** p) ** (1 / p)` of each window of a sequence, with p = `norm_type`.

    Shape: input `(N, C, L)` or `(C, L)`, output `(N, C, L_out)` or `(C, L_out)`,
    L_out = (L - kernel_size) / stride + 1.

    >>> import flambeau as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[[3.0, 4.0, 6.0, 8.0]]]))
    tensor([[[ 5., 10.]]])
    """

    _pool = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of an image; see `LPPool1d`.

    Shape: input `(N, C, H, W)` or `(C, H, W)`, output `(N, C, H_out, W_out)` or without N.

    >>> import flambeau as torch
    >>> torch.nn.LPPool2d(1.2, (3, 2), stride=(2, 1))(torch.rand(2, 3, 9, 8)).shape
    torch.Size([2, 3, 4, 7])
    """

    _pool = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of a volume; see `LPPool1d`.

    Shape: input `(N, C, D, H, W)` or without N, output `(N, C, D_out, H_out, W_out)` or without N.

    >>> import flambeau as torch
    >>> torch.nn.LPPool3d(2, 2)(torch.rand(2, 3, 4, 6, 8)).shape
    torch.Size([2, 3, 2, 3, 4])
    """

    _pool = staticmethod(F.lp_pool3d)


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ("output_size", "return_indices")

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return self._pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maximum of each of `output_size` windows of a sequence, whatever its length.

    Shape: input `(N, C, L)` or `(C, L)`, output `(N, C, output_size)` or `(C, output_size)`.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
    tensor([[3., 5.]])
    """

    _pool = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maximum of each window of an image, whatever its size; None in `output_size` keeps that dimension.

    Shape: input `(N, C, H, W)` or `(C, H, W)`, output `(N, C, *output_size)` or `(C, *output_size)`.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveMaxPool2d((None, 7))(torch.randn(1, 64, 10, 9)).shape
    torch.Size([1, 64, 10, 7])
    """

    _pool = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maximum of each window of a volume; see `AdaptiveMaxPool2d`.

    Shape: input `(N, C, D, H, W)` or without N, output `(N, C, *output_size)` or without N.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveMaxPool3d((2, None, 3))(torch.randn(1, 4, 8, 9, 7)).shape
    torch.Size([1, 4, 2, 9, 3])
    """

    _pool = staticmethod(F.adaptive_max_pool3d)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ("output_size",)

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` windows of a sequence, whatever its length.

    Shape: input `(N, C, L)` or `(C, L)`, output `(N, C, output_size)` or `(C, output_size)`.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 5.0]]))
    tensor([[2.0000, 3.5000]])
    """

    _pool = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each window of an image, whatever its size; None in `output_size` keeps that dimension.

    Shape: input `(N, C, H, W)` or `(C, H, W)`, output `(N, C, *output_size)` or `(C, *output_size)`.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveAvgPool2d((5, 7))(torch.randn(1, 64, 8, 9)).shape
    torch.Size([1, 64, 5, 7])
    """

    _pool = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each window of a volume; see `AdaptiveAvgPool2d`.

    Shape: input `(N, C, D, H, W)` or without N, output `(N, C, *output_size)` or without N.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveAvgPool3d(2)(torch.randn(1, 4, 8, 9, 7)).shape
    torch.Size([1, 4, 2, 2, 2])
    """

    _pool = staticmethod(F.adaptive_avg_pool3d)
