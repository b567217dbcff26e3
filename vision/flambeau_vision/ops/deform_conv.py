"""Deformable convolution (Dai et al., 2017): the points of the kernel are shifted by offsets computed from the image."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

__all__ = ["DeformConv2d", "deform_conv2d"]

Tensor = torch.Tensor
Pair = int | Sequence[int]


def _pair(value: Pair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """Compute a convolution whose sampling points are shifted by `offset` and weighted by `mask`.

    Dai et al., [Deformable Convolutional Networks](https://arxiv.org/abs/1703.06211), 2017. `mask` is from Zhu, Hu, Lin and
    Dai, [Deformable ConvNets v2](https://arxiv.org/abs/1811.11168), 2018.

    Args:
        input: shape `(N, C, H, W)`.
        offset: shifts `(y, x)` of the kernel points in pixels, of shape `(N, 2 * G * kh * kw, OH, OW)`. The channels are divided
            into `G` groups, each with separate shifts.
        weight: shape `(O, C // groups, kh, kw)`.
        bias: shape `(O,)`; None for no bias.
        stride: step of the kernel, an int or `(vertical, horizontal)`.
        padding: zeros around the input, an int or a pair.
        dilation: distance between kernel points, an int or a pair.
        mask: weight of each kernel point, of shape `(N, G * kh * kw, OH, OW)`; None to weight all points with 1.

    Returns:
        a tensor of shape `(N, O, OH, OW)`.

    Raises:
        RuntimeError: the channels of `offset` do not match the kernel size.

    Example:
        >>> from flambeau_vision.ops import deform_conv2d
        >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> right = torch.tensor([0.0, 1.0]).reshape(1, 2, 1, 1).expand(1, 2, 4, 4)
        >>> deform_conv2d(image, right, weight=torch.ones(1, 1, 1, 1))[0, 0, 0]
        tensor([1., 2., 3., 0.])
    """
    batch, channels, height, width = input.shape
    out_channels, group_channels, kernel_height, kernel_width = weight.shape
    points = kernel_height * kernel_width
    offset_groups = offset.shape[1] // (2 * points)
    if offset_groups == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple of "
            f"2 * weight.size[2] * weight.size[3].\nGot offset.shape[1]={offset.shape[1]}, while 2 * weight.size[2] * "
            f"weight.size[3]={2 * points}"
        )
    out_height, out_width = offset.shape[-2:]
    positions = _kernel_positions(weight, (out_height, out_width), _pair(stride), _pair(padding), _pair(dilation))
    moved = offset.reshape(batch * offset_groups, points, 2, out_height, out_width) + positions
    grid = _to_grid(moved, height, width).reshape(batch * offset_groups, points * out_height, out_width, 2)
    grouped = input.reshape(batch * offset_groups, channels // offset_groups, height, width)
    columns = F.grid_sample(grouped, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    columns = columns.reshape(batch, offset_groups, -1, points, out_height * out_width)
    if mask is not None:
        columns = columns * mask.reshape(batch, offset_groups, 1, points, -1)
    groups = channels // group_channels
    columns = columns.reshape(batch, groups, group_channels * points, out_height * out_width)
    kernels = weight.reshape(groups, out_channels // groups, group_channels * points)
    result = (kernels @ columns).reshape(batch, out_channels, out_height, out_width)
    return result if bias is None else result + bias[:, None, None]


def _kernel_positions(weight: Tensor, size: tuple[int, int], stride: tuple, padding: tuple, dilation: tuple) -> Tensor:
    """Return the positions `(y, x)` of the unshifted kernel points in the input, as a tensor `(kh * kw, 2, OH, OW)`."""
    axes = []
    for axis in (0, 1):
        point = torch.arange(weight.shape[2 + axis], dtype=weight.dtype, device=weight.device) * dilation[axis]
        place = torch.arange(size[axis], dtype=weight.dtype, device=weight.device) * stride[axis] - padding[axis]
        axes.append(point[:, None] + place)
    (kernel_height, out_height), (kernel_width, out_width) = axes[0].shape, axes[1].shape
    full = (kernel_height, kernel_width, out_height, out_width)
    y, x = axes[0][:, None, :, None].expand(full), axes[1][None, :, None, :].expand(full)
    return torch.stack([y, x], dim=2).reshape(-1, 2, out_height, out_width)


def _to_grid(positions: Tensor, height: int, width: int) -> Tensor:
    """Convert positions to the form that `grid_sample` expects.

    Dimension 2 of `positions` is `(y, x)` in pixels; the last dimension of the result is `(x, y)`, from -1 to 1 in the image.
    """
    y, x = positions.unbind(2)
    return torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], dim=-1)


class DeformConv2d(nn.Module):
    """Deformable convolution: `deform_conv2d` as a module with `weight` and `bias`.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size, stride, padding, dilation, groups: arguments of `Conv2d`.
        bias: whether to add a learned bias to the output.

    Shape:
        - Input: `(N, in_channels, H, W)`; `offset` and `mask` have the shapes of `deform_conv2d`.
        - Output: `(N, out_channels, OH, OW)`.

    Raises:
        ValueError: the channels are not divisible by `groups`.

    Example:
        >>> from flambeau_vision.ops import DeformConv2d
        >>> conv = DeformConv2d(3, 8, kernel_size=3, padding=1)
        >>> conv(torch.rand(1, 3, 6, 6), offset=torch.zeros(1, 2 * 3 * 3, 6, 6)).shape
        torch.Size([1, 8, 6, 6])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        if bias:
            self.bias = nn.Parameter(torch.empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask)

    def extra_repr(self) -> str:
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0, 0):
            shown += f", padding={self.padding}"
        if self.dilation != (1, 1):
            shown += f", dilation={self.dilation}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        return shown if self.bias is not None else f"{shown}, bias=False"
