"""Convolution and transposed convolution layers, for sequences, images and volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .. import init, parameter
from ..parameter import Parameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

Size = int | Sequence[int]
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """The settings, parameters and repr of all convolutions; `_dims` is the number of spatial dimensions."""

    __constants__ = (
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    )
    _dims: int
    _convolve: str  # name of a function in `F`, looked up at each call because programs may replace that function
    transposed: bool

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size,
        padding: Size | str,
        dilation: Size,
        output_padding: Size,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        per_dim = _ntuple(self._dims)
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = per_dim(kernel_size)
        self.stride = per_dim(stride)
        self.padding = padding if isinstance(padding, str) else per_dim(padding)
        self.dilation = per_dim(dilation)
        self.output_padding = per_dim(output_padding)
        self.groups = groups
        self.padding_mode = padding_mode
        self.weight = Parameter(torch.empty(self._weight_shape(), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(torch.empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        rows, columns = self.out_channels, self.in_channels
        if self.transposed:
            rows, columns = columns, rows
        return (rows, columns // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        init._bias_uniform_(self.bias, self.weight)

    def extra_repr(self) -> str:
        settings = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}",
            f"padding={self.padding}" if self.padding != (0,) * self._dims else "",
            f"dilation={self.dilation}" if self.dilation != (1,) * self._dims else "",
            f"output_padding={self.output_padding}" if self.output_padding != (0,) * self._dims else "",
            f"groups={self.groups}" if self.groups != 1 else "",
            "bias=False" if self.bias is None else "",
            f"padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "",
        ]
        return ", ".join(filter(None, settings))


class _ConvNd(_Convolution):
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and any(step != 1 for step in _ntuple(self._dims)(stride)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype
        )
        self._reversed_padding_repeated_twice = self._padding_per_side()

    def _padding_per_side(self) -> tuple[int, ...]:
        """Return the padding in the order of `F.pad`: two numbers for the last dimension, two for the second-to-last, ..."""
        if self.padding == "same":
            totals = [step * (size - 1) for step, size in zip(self.dilation, self.kernel_size, strict=True)]
            return tuple(side for total in reversed(totals) for side in (total // 2, total - total // 2))
        if isinstance(self.padding, str):  # it is "valid", since "same" is handled above
            return (0, 0) * self._dims
        return _reverse_repeat_tuple(self.padding, 2)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Size | str = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return getattr(F, self._convolve)(input, weight, bias, self.stride, padding, self.dilation, self.groups)  # type: ignore[no-any-return]  # looked up by name

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_ConvNd):
    """Convolution of sequences with learned kernels, one for each output channel (strictly, cross-correlation).

    Each output channel is the sum over the input channels of the correlation with that channel's kernel, plus a bias.
    Weight and bias are initialized from U(-k, k) with `k = 1 / sqrt(in_channels / groups * kernel_size)`.

    Args:
        in_channels: the number of channels of the input; the call raises RuntimeError for another number.
        out_channels: the number of channels of the output.
        kernel_size: the length of a kernel.
        stride: the step of the kernel from one output element to the next.
        padding: the number of elements added on each side; "valid" for none, "same" to keep the size (requires
            stride 1).
        dilation: the step between the input elements that one kernel covers; 1 for adjacent ones.
        groups: the number of groups of channels, which are convolved separately; must divide in_channels and
            out_channels. `groups=in_channels` is a depthwise convolution.
        bias: whether to add a learned bias to each output channel; False sets `bias` to None.
        padding_mode: the padding values: "zeros", "reflect" (the mirror image, without the edge), "replicate" (the
            edge) or "circular" (the other end).
        device, dtype: device and dtype of the parameters `weight`, `(out_channels, in_channels / groups, kernel_size)`, and
            `bias`, `(out_channels,)`.

    Shape:
        - Input: `(N, in_channels, L)` or `(in_channels, L)`.
        - Output: `(N, out_channels, L_out)` or without N, with
          `L_out = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`.

    Raises:
        ValueError: `padding` or `padding_mode` is unknown, or `groups` does not divide the channels.

    Example:
        >>> torch.nn.Conv1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape
        torch.Size([20, 33, 24])
    """

    _dims = 1
    _convolve = "conv1d"


class Conv2d(_ConvNd):
    """Convolution of images with learned kernels, one for each output channel (strictly, cross-correlation).

    Each output channel is the sum over the input channels of the correlation with that channel's kernel, plus a bias.
    Weight and bias are initialized from U(-k, k) with `k = 1 / sqrt(in_channels / groups * prod(kernel_size))`.

    Args:
        in_channels: the number of channels of the input; the call raises RuntimeError for another number.
        out_channels: the number of channels of the output.
        kernel_size: height and width of a kernel, or one number for both.
        stride: the step of the kernel from one output element to the next. A pair for height and width, or one number
            for both.
        padding: the number of elements added on each side, one number or a pair for height and width; "valid" for
            none, "same" to keep the size (requires stride 1).
        dilation: the step between the input elements that one kernel covers; 1 for adjacent ones. A pair for
            height and width, or one number for both.
        groups: the number of groups of channels, which are convolved separately; must divide in_channels and
            out_channels. `groups=in_channels` is a depthwise convolution.
        bias: whether to add a learned bias to each output channel; False sets `bias` to None.
        padding_mode: the padding values: "zeros", "reflect" (the mirror image, without the edge), "replicate" (the
            edge) or "circular" (the other end).
        device, dtype: device and dtype of the parameters `weight`, `(out_channels, in_channels / groups, *kernel_size)`, and
            `bias`, `(out_channels,)`.

    Shape:
        - Input: `(N, in_channels, H, W)` or `(in_channels, H, W)`.
        - Output: `(N, out_channels, H_out, W_out)` or without N, with
          `H_out = (H + 2 * padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) // stride[0] + 1`, and W_out the same
          with index 1.

    Raises:
        ValueError: `padding` or `padding_mode` is unknown, or `groups` does not divide the channels.

    Example:
        >>> layer = torch.nn.Conv2d(16, 33, (3, 5), stride=(2, 1), padding=(4, 2))
        >>> layer(torch.randn(2, 16, 50, 100)).shape
        torch.Size([2, 33, 28, 100])
        >>> torch.nn.Conv2d(16, 33, 3, padding="same")(torch.randn(16, 50, 100)).shape
        torch.Size([33, 50, 100])
    """

    _dims = 2
    _convolve = "conv2d"


class Conv3d(_ConvNd):
    """Convolution of volumes with learned kernels, one for each output channel (strictly, cross-correlation).

    Each output channel is the sum over the input channels of the correlation with that channel's kernel, plus a bias.
    Weight and bias are initialized from U(-k, k) with `k = 1 / sqrt(in_channels / groups * prod(kernel_size))`.

    Args:
        in_channels: the number of channels of the input; the call raises RuntimeError for another number.
        out_channels: the number of channels of the output.
        kernel_size: depth, height and width of a kernel, or one number for all.
        stride: the step of the kernel from one output element to the next. Three numbers, or one for all.
        padding: the number of elements added on each side, one number or three for depth, height and width; "valid"
            for none, "same" to keep the size (requires stride 1).
        dilation: the step between the input elements that one kernel covers; 1 for adjacent ones. Three numbers,
            or one for all.
        groups: the number of groups of channels, which are convolved separately; must divide in_channels and
            out_channels. `groups=in_channels` is a depthwise convolution.
        bias: whether to add a learned bias to each output channel; False sets `bias` to None.
        padding_mode: the padding values: "zeros", "reflect" (the mirror image, without the edge), "replicate" (the
            edge) or "circular" (the other end).
        device, dtype: device and dtype of the parameters `weight`, `(out_channels, in_channels / groups, *kernel_size)`, and
            `bias`, `(out_channels,)`.

    Shape:
        - Input: `(N, in_channels, D, H, W)` or `(in_channels, D, H, W)`.
        - Output: `(N, out_channels, D_out, H_out, W_out)` or without N, with
          `D_out = (D + 2 * padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) // stride[0] + 1`, and H_out and W_out
          the same with the other indices.

    Raises:
        ValueError: `padding` or `padding_mode` is unknown, or `groups` does not divide the channels.

    Example:
        >>> torch.nn.Conv3d(3, 8, 3, stride=2)(torch.randn(2, 3, 7, 9, 11)).shape
        torch.Size([2, 8, 3, 4, 5])
    """

    _dims = 3
    _convolve = "conv3d"


class _ConvTransposeNd(_Convolution):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        padding: Sequence[int] = self.padding  # type: ignore[assignment]  # only `Conv1d` to `Conv3d` take a string
        output_padding = self._output_padding(
            input, output_size, self.stride, padding, self.kernel_size, self._dims, self.dilation
        )
        return getattr(F, self._convolve)(  # type: ignore[no-any-return]  # looked up by name
            input, self.weight, self.bias, self.stride, padding, output_padding, self.groups, self.dilation
        )

    def _output_padding(
        self,
        input: Tensor,
        output_size: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:
        """Compute the `output_padding` with which the output gets the size `output_size`. Subclasses call or override it."""
        if output_size is None:
            return self.output_padding
        dims, leading = num_spatial_dims, input.dim() - num_spatial_dims
        if len(output_size) == leading + dims:
            output_size = output_size[leading:]
        if len(output_size) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} "
                f"or {leading + dims} elements (got {len(output_size)})"
            )
        smallest = [
            (length - 1) * step - 2 * margin + spacing * (size - 1) + 1
            for length, step, margin, spacing, size in zip(
                input.shape[leading:], stride, padding, dilation or (1,) * dims, kernel_size, strict=True
            )
        ]
        largest = [low + step - 1 for low, step in zip(smallest, stride, strict=True)]
        extra = [size - low for size, low in zip(output_size, smallest, strict=True)]
        if any(not 0 <= added < step for added, step in zip(extra, stride, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range "
                f"from {smallest} to {largest} (for an input of {input.size()[2:]})"
            )
        return extra


class _ConvTransposeMixin(_ConvTransposeNd):
    """The former base of transposed convolutions, which mmcv checks with `isinstance`."""


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of sequences, the gradient of `Conv1d` with respect to its input.

    Every input element adds the kernel, times its value, to the output at steps of `stride`. It is also
    called deconvolution, though it inverts only the shapes. Weight and bias are initialized from U(-k, k) with
    `k = 1 / sqrt(out_channels / groups * kernel_size)`.

    Dumoulin and Visin, *A guide to convolution arithmetic for deep learning*, 2016.

    Args:
        in_channels: the number of channels of the input; the call raises RuntimeError for another number.
        out_channels: the number of channels of the output.
        kernel_size: the length of a kernel.
        stride: the step between the kernel's copies in the output.
        padding: the number of elements cropped from each side of the output: the padding of the transposed convolution.
        output_padding: the number of elements added at the end of the output, to choose among the sizes that a
            convolution of this stride maps to the input size. Must be below the stride or the dilation.
        groups: the number of groups of channels, which are convolved separately; must divide in_channels and
            out_channels.
        bias: whether to add a learned bias to each output channel; False sets `bias` to None.
        dilation: the step between the elements of a kernel in the output.
        padding_mode: "zeros", the only mode supported.
        device, dtype: device and dtype of the parameters `weight`, `(in_channels, out_channels / groups, kernel_size)`, and
            `bias`, `(out_channels,)`.

    Shape:
        - Input: `(N, in_channels, L)` or `(in_channels, L)`.
        - Output: `(N, out_channels, L_out)` or without N, with
          `L_out = (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1`. `forward` takes
          `output_size`, with or without batch and channels, instead of `output_padding`.

    Raises:
        ValueError: `padding_mode` is not "zeros", `groups` does not divide the channels, or an `output_size` is not
            possible with the stride.

    Example:
        >>> layer = torch.nn.ConvTranspose1d(16, 33, 3, stride=2)
        >>> layer(torch.randn(20, 16, 50)).shape, layer(torch.randn(20, 16, 50), output_size=[102]).shape
        (torch.Size([20, 33, 101]), torch.Size([20, 33, 102]))
    """

    _dims = 1
    _convolve = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of images, the gradient of `Conv2d` with respect to its input.

    Every input element adds the kernel, times its value, to the output at steps of `stride`. It is also
    called deconvolution, though it inverts only the shapes. Weight and bias are initialized from U(-k, k) with
    `k = 1 / sqrt(out_channels / groups * prod(kernel_size))`.

    Dumoulin and Visin, *A guide to convolution arithmetic for deep learning*, 2016.

    Args:
        in_channels: the number of channels of the input; the call raises RuntimeError for another number.
        out_channels: the number of channels of the output.
        kernel_size: height and width of a kernel, or one number for both.
        stride: the step between the kernel's copies in the output. A pair for height and width, or one number for
            both.
        padding: the number of elements cropped from each side of the output: the padding of the transposed convolution. A pair
            for height and width, or one number for both.
        output_padding: the number of elements added at the end of the output, to choose among the sizes that a
            convolution of this stride maps to the input size. Must be below the stride or the dilation. A pair for height and
            width, or one number for both.
        groups: the number of groups of channels, which are convolved separately; must divide in_channels and
            out_channels.
        bias: whether to add a learned bias to each output channel; False sets `bias` to None.
        dilation: the step between the elements of a kernel in the output. A pair for height and width, or one
            number for both.
        padding_mode: "zeros", the only mode supported.
        device, dtype: device and dtype of the parameters `weight`, `(in_channels, out_channels / groups, *kernel_size)`, and
            `bias`, `(out_channels,)`.

    Shape:
        - Input: `(N, in_channels, H, W)` or `(in_channels, H, W)`.
        - Output: `(N, out_channels, H_out, W_out)` or without N, with
          `H_out = (H - 1) * stride[0] - 2 * padding[0] + dilation[0] * (kernel_size[0] - 1) + output_padding[0] + 1`,
          and W_out the same with index 1. `forward` takes `output_size`, with or without batch and channels, in place
          of `output_padding`.

    Raises:
        ValueError: `padding_mode` is not "zeros", `groups` does not divide the channels, or an `output_size` is not
            possible with the stride.

    Example:
        >>> down, up = torch.nn.Conv2d(4, 4, 3, stride=2, padding=1), torch.nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1)
        >>> image = torch.randn(1, 4, 12, 12)
        >>> up(down(image), output_size=image.size()).shape
        torch.Size([1, 4, 12, 12])
    """

    _dims = 2
    _convolve = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of volumes, the gradient of `Conv3d` with respect to its input.

    Every input element adds the kernel, times its value, to the output at steps of `stride`. It is also
    called deconvolution, though it inverts only the shapes. Weight and bias are initialized from U(-k, k) with
    `k = 1 / sqrt(out_channels / groups * prod(kernel_size))`.

    Dumoulin and Visin, *A guide to convolution arithmetic for deep learning*, 2016.

    Args:
        in_channels: the number of channels of the input; the call raises RuntimeError for another number.
        out_channels: the number of channels of the output.
        kernel_size: depth, height and width of a kernel, or one number for all.
        stride: the step between the kernel's copies in the output. Three numbers, or one for all.
        padding: the number of elements cropped from each side of the output: the padding of the transposed convolution. Three
            numbers, or one for all.
        output_padding: the number of elements added at the end of the output, to choose among the sizes that a
            convolution of this stride maps to the input size. Must be below the stride or the dilation. Three numbers, or one for
            all.
        groups: the number of groups of channels, which are convolved separately; must divide in_channels and
            out_channels.
        bias: whether to add a learned bias to each output channel; False sets `bias` to None.
        dilation: the step between the elements of a kernel in the output. Three numbers, or one for all.
        padding_mode: "zeros", the only mode supported.
        device, dtype: device and dtype of the parameters `weight`, `(in_channels, out_channels / groups, *kernel_size)`, and
            `bias`, `(out_channels,)`.

    Shape:
        - Input: `(N, in_channels, D, H, W)` or `(in_channels, D, H, W)`.
        - Output: `(N, out_channels, D_out, H_out, W_out)` or without N, with
          `D_out = (D - 1) * stride[0] - 2 * padding[0] + dilation[0] * (kernel_size[0] - 1) + output_padding[0] + 1`,
          and H_out and W_out the same with the other indices. `forward` takes `output_size`, with or without batch and
          channels, instead of `output_padding`.

    Raises:
        ValueError: `padding_mode` is not "zeros", `groups` does not divide the channels, or an `output_size` is not
            possible with the stride.

    Example:
        >>> torch.nn.ConvTranspose3d(3, 8, 3, stride=2)(torch.randn(2, 3, 3, 4, 5)).shape
        torch.Size([2, 8, 7, 9, 11])
    """

    _dims = 3
    _convolve = "conv_transpose3d"


class _LazyConvolution(LazyModuleMixin, _Convolution):
    """The base of lazy convolutions, which take `in_channels` from the first input."""

    def _make_lazy(self, out_channels: int, bias: bool, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        self.out_channels = out_channels
        self.weight = parameter.UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = parameter.UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new initial values if the shapes are known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: object, **kwargs: object) -> None:
        """Allocate the parameters for the number of channels of `input`, and initialize them."""
        self.in_channels = self._get_in_channels(input)
        if not self.has_uninitialized_params():  # `load_state_dict` has already set the parameters
            return
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())  # type: ignore[attr-defined]  # the parameter is uninitialized
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        unbatched = self._dims + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input "
                f"to {type(self).__name__}, but got input of size: {input.shape}"
            )
        in_channels: int = input.shape[-unbatched]
        return in_channels


class _LazyConvNd(_LazyConvolution):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyConvTransposeNd(_LazyConvolution):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvNd, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input, and then becomes a `Conv1d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        out_channels: the number of channels of the output.
        kernel_size: the length of a kernel.
        stride, padding, dilation, groups, bias, padding_mode: as in `Conv1d`.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(N, in_channels, L)` or `(in_channels, L)`; RuntimeError for other numbers of dimensions.
        - Output: `(N, out_channels, L_out)` or without N, sizes as in `Conv1d`.

    Example:
        >>> layer = torch.nn.LazyConv1d(33, 3, stride=2)
        >>> layer(torch.randn(20, 16, 50)).shape, layer.in_channels
        (torch.Size([20, 33, 24]), 16)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvNd, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input, and then becomes a `Conv2d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        out_channels: the number of channels of the output.
        kernel_size: height and width of a kernel, or one number for both.
        stride, padding, dilation, groups, bias, padding_mode: as in `Conv2d`.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(N, in_channels, H, W)` or `(in_channels, H, W)`; RuntimeError for other numbers of dimensions.
        - Output: `(N, out_channels, H_out, W_out)` or without N, sizes as in `Conv2d`.

    Example:
        >>> layer = torch.nn.LazyConv2d(33, 3)
        >>> layer(torch.randn(2, 16, 10, 10)).shape, layer.in_channels
        (torch.Size([2, 33, 8, 8]), 16)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvNd, Conv3d):
    """A `Conv3d` that takes `in_channels` from its first input, and then becomes a `Conv3d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        out_channels: the number of channels of the output.
        kernel_size: depth, height and width of a kernel, or one number for all.
        stride, padding, dilation, groups, bias, padding_mode: as in `Conv3d`.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(N, in_channels, D, H, W)` or `(in_channels, D, H, W)`; RuntimeError for other numbers of dimensions.
        - Output: `(N, out_channels, D_out, H_out, W_out)` or without N, sizes as in `Conv3d`.

    Example:
        >>> layer = torch.nn.LazyConv3d(8, 3)
        >>> layer(torch.randn(2, 3, 4, 4, 4)).shape, layer.in_channels
        (torch.Size([2, 8, 2, 2, 2]), 3)
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTransposeNd, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input, and then becomes a `ConvTranspose1d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        out_channels: the number of channels of the output.
        kernel_size: the length of a kernel.
        stride, padding, output_padding, groups, bias, dilation, padding_mode: as in `ConvTranspose1d`.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(N, in_channels, L)` or `(in_channels, L)`; RuntimeError for other numbers of dimensions.
        - Output: `(N, out_channels, L_out)` or without N, sizes as in `ConvTranspose1d`.

    Example:
        >>> layer = torch.nn.LazyConvTranspose1d(33, 3, stride=2)
        >>> layer(torch.randn(20, 16, 50)).shape, layer.in_channels
        (torch.Size([20, 33, 101]), 16)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTransposeNd, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input, and then becomes a `ConvTranspose2d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        out_channels: the number of channels of the output.
        kernel_size: height and width of a kernel, or one number for both.
        stride, padding, output_padding, groups, bias, dilation, padding_mode: as in `ConvTranspose2d`.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(N, in_channels, H, W)` or `(in_channels, H, W)`; RuntimeError for other numbers of dimensions.
        - Output: `(N, out_channels, H_out, W_out)` or without N, sizes as in `ConvTranspose2d`.

    Example:
        >>> layer = torch.nn.LazyConvTranspose2d(33, 3)
        >>> layer(torch.randn(2, 16, 8, 8)).shape, layer.in_channels
        (torch.Size([2, 33, 10, 10]), 16)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTransposeNd, ConvTranspose3d):
    """A `ConvTranspose3d` that takes `in_channels` from its first input, and then becomes a `ConvTranspose3d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        out_channels: the number of channels of the output.
        kernel_size: depth, height and width of a kernel, or one number for all.
        stride, padding, output_padding, groups, bias, dilation, padding_mode: as in `ConvTranspose3d`.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(N, in_channels, D, H, W)` or `(in_channels, D, H, W)`; RuntimeError for other numbers of dimensions.
        - Output: `(N, out_channels, D_out, H_out, W_out)` or without N, sizes as in `ConvTranspose3d`.

    Example:
        >>> layer = torch.nn.LazyConvTranspose3d(8, 3)
        >>> layer(torch.randn(2, 3, 2, 2, 2)).shape, layer.in_channels
        (torch.Size([2, 8, 4, 4, 4]), 3)
    """

    cls_to_become = ConvTranspose3d
