"""Video ResNets (Tran et al., 2017): residual networks with convolutions over space and time, joint or separate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

from .._api import WeightsEnum, register_model
from ._meta import kinetics

__all__ = [
    "MC3_18_Weights",
    "R2Plus1D_18_Weights",
    "R3D_18_Weights",
    "VideoResNet",
    "mc3_18",
    "r2plus1d_18",
    "r3d_18",
]

Tensor = torch.Tensor


class Conv3DSimple(nn.Conv3d):
    """3 x 3 x 3 convolution over time, height and width."""

    def __init__(self, in_planes: int, out_planes: int, midplanes: int | None = None, stride: int = 1, padding: int = 1) -> None:
        super().__init__(in_planes, out_planes, (3, 3, 3), stride, padding, bias=False)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """Return the stride `(time, height, width)` of the shortcut of a residual block with this convolution."""
        return stride, stride, stride


class Conv2Plus1D(nn.Sequential):
    """(2+1)D convolution: a 3 x 3 convolution over height and width, then a convolution of size 3 over time."""

    def __init__(self, in_planes: int, out_planes: int, midplanes: int, stride: int = 1, padding: int = 1) -> None:
        super().__init__(
            nn.Conv3d(in_planes, midplanes, (1, 3, 3), (1, stride, stride), (0, padding, padding), bias=False),
            nn.BatchNorm3d(midplanes),
            nn.ReLU(inplace=True),
            nn.Conv3d(midplanes, out_planes, (3, 1, 1), (stride, 1, 1), (padding, 0, 0), bias=False),
        )

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """Return the stride `(time, height, width)` of the shortcut of a residual block with this convolution."""
        return stride, stride, stride


class Conv3DNoTemporal(nn.Conv3d):
    """3 x 3 convolution over height and width, which treats each frame separately."""

    def __init__(self, in_planes: int, out_planes: int, midplanes: int | None = None, stride: int = 1, padding: int = 1) -> None:
        super().__init__(in_planes, out_planes, (1, 3, 3), (1, stride, stride), (0, padding, padding), bias=False)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """Return the stride `(time, height, width)` of the shortcut of a residual block with this convolution."""
        return 1, stride, stride


def _middle(inplanes: int, planes: int) -> int:
    """Return the number of intermediate channels with which `Conv2Plus1D` has about as many weights as `Conv3DSimple`."""
    return (inplanes * planes * 3 * 3 * 3) // (inplanes * 3 * 3 + 3 * planes)


class BasicBlock(nn.Module):
    """Residual block with two convolutions."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        middle = _middle(inplanes, planes)
        first = conv_builder(inplanes, planes, middle, stride)
        self.conv1 = nn.Sequential(first, nn.BatchNorm3d(planes), nn.ReLU(inplace=True))
        self.conv2 = nn.Sequential(conv_builder(planes, planes, middle), nn.BatchNorm3d(planes))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        return self.relu(self.conv2(self.conv1(x)) + shortcut)


class Bottleneck(nn.Module):
    """Residual block of three convolutions: 1 x 1 x 1 to reduce the channels, one of `conv_builder`, 1 x 1 x 1 to expand them."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        wide = planes * self.expansion
        narrow = nn.Conv3d(inplanes, planes, 1, bias=False)
        self.conv1 = nn.Sequential(narrow, nn.BatchNorm3d(planes), nn.ReLU(inplace=True))
        middle = conv_builder(planes, planes, _middle(inplanes, planes), stride)
        self.conv2 = nn.Sequential(middle, nn.BatchNorm3d(planes), nn.ReLU(inplace=True))
        self.conv3 = nn.Sequential(nn.Conv3d(planes, wide, 1, bias=False), nn.BatchNorm3d(wide))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        return self.relu(self.conv3(self.conv2(self.conv1(x))) + shortcut)


class BasicStem(nn.Sequential):
    """First layers: a 3 x 7 x 7 convolution that halves height and width."""

    def __init__(self) -> None:
        convolution = nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False)
        super().__init__(convolution, nn.BatchNorm3d(64), nn.ReLU(inplace=True))


class R2Plus1dStem(nn.Sequential):
    """First layers: a 7 x 7 convolution that halves height and width, then a convolution of size 3 over time."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv3d(3, 45, (1, 7, 7), (1, 2, 2), (0, 3, 3), bias=False),
            nn.BatchNorm3d(45),
            nn.ReLU(inplace=True),
            nn.Conv3d(45, 64, (3, 1, 1), 1, (1, 0, 0), bias=False),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class VideoResNet(nn.Module):
    """ResNet for videos: residual blocks with convolutions over space and time.

    Tran et al., [A Closer Look at Spatiotemporal Convolutions for Action Recognition](https://arxiv.org/abs/1711.11248), 2017.

    Args:
        block: class of the blocks.
        conv_makers: convolution classes, one for each of the four stages.
        layers: number of blocks of each stage.
        stem: called without arguments to create the first layers.
        num_classes: number of classes, the size of the output.
        zero_init_residual: initialize the residual branches to 0, so that blocks start as the identity.

    Shape:
        - Input: `(N, 3, T, H, W)`.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision.models import video
        >>> parts = ([video.resnet.Conv2Plus1D] * 4, [1, 1, 1, 1], video.resnet.R2Plus1dStem)
        >>> model = video.VideoResNet(video.resnet.BasicBlock, *parts, num_classes=10)
        >>> model(torch.rand(2, 3, 4, 16, 16)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        conv_makers: Sequence[type[nn.Module]],
        layers: Sequence[int],
        stem: Callable[..., nn.Module],
        num_classes: int = 400,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.inplanes = 64
        self.stem = stem()
        for number, (convolution, depth) in enumerate(zip(conv_makers, layers, strict=True)):
            stage = self._stage(block, convolution, 64 * 2**number, depth, stride=2 if number else 1)
            setattr(self, f"layer{number + 1}", stage)
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv3d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, BasicBlock | Bottleneck):
                    last = module.conv2 if isinstance(module, BasicBlock) else module.conv3
                    nn.init.zeros_(last[1].weight)

    def _stage(self, block: Any, convolution: Any, planes: int, depth: int, stride: int) -> nn.Sequential:
        width, shortcut = planes * block.expansion, None
        if stride != 1 or self.inplanes != width:
            strides = convolution.get_downsample_stride(stride)
            shortcut = nn.Sequential(nn.Conv3d(self.inplanes, width, 1, strides, bias=False), nn.BatchNorm3d(width))
        first = block(self.inplanes, planes, convolution, stride, shortcut)
        self.inplanes = width
        return nn.Sequential(first, *(block(width, planes, convolution) for _ in range(1, depth)))

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(self.avgpool(x).flatten(1))


class R3D_18_Weights(WeightsEnum):
    KINETICS400_V1 = kinetics("r3d_18-b3b3357e", 33371472, (112, 112), (128, 171))
    DEFAULT = KINETICS400_V1


class MC3_18_Weights(WeightsEnum):
    KINETICS400_V1 = kinetics("mc3_18-a90a0ba3", 11695440, (112, 112), (128, 171))
    DEFAULT = KINETICS400_V1


class R2Plus1D_18_Weights(WeightsEnum):
    KINETICS400_V1 = kinetics("r2plus1d_18-91a641e6", 31505325, (112, 112), (128, 171))
    DEFAULT = KINETICS400_V1


@register_model(R3D_18_Weights)
def r3d_18(**kwargs: Any) -> VideoResNet:
    """Build an 18-layer ResNet with 3D convolutions; further arguments are passed to `VideoResNet`."""
    return VideoResNet(BasicBlock, [Conv3DSimple] * 4, [2, 2, 2, 2], BasicStem, **kwargs)


@register_model(MC3_18_Weights)
def mc3_18(**kwargs: Any) -> VideoResNet:
    """Build an 18-layer ResNet with 3D convolutions in the first layers and 2D later; further arguments are passed to
    `VideoResNet`.
    """
    return VideoResNet(BasicBlock, [Conv3DSimple] + [Conv3DNoTemporal] * 3, [2, 2, 2, 2], BasicStem, **kwargs)


@register_model(R2Plus1D_18_Weights)
def r2plus1d_18(**kwargs: Any) -> VideoResNet:
    """Build an 18-layer ResNet with (2+1)D convolutions; further arguments are passed to `VideoResNet`."""
    return VideoResNet(BasicBlock, [Conv2Plus1D] * 4, [2, 2, 2, 2], R2Plus1dStem, **kwargs)
