"""ResNet (He et al., 2015), whose blocks add their input to their output, and its variants ResNeXt and wide ResNet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

from ._api import WeightsEnum, register_model
from ._meta import imagenet

__all__ = [
    "ResNeXt50_32X4D_Weights",
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "ResNet",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "Wide_ResNet50_2_Weights",
    "Wide_ResNet101_2_Weights",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]

Tensor = torch.Tensor
Norm = Callable[[int], nn.Module]


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    """Return a 3 x 3 convolution without bias, padded so that stride 1 keeps the size."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, padding=dilation, groups=groups, bias=False, dilation=dilation)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """Return a 1 x 1 convolution without bias."""
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Residual block with two 3 x 3 convolutions."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """Residual block with 1 x 1, 3 x 3 and 1 x 1 convolutions; the first reduces the channels, the last expands them.

    The 3 x 3 convolution applies the stride, as in ResNet "v1.5"; in the paper, the first convolution applies it.
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """ResNet: blocks of convolutions that add their input to their output.

    He, Zhang, Ren and Sun, [Deep Residual Learning for Image Recognition](https://arxiv.org/abs/1512.03385), 2015.

    Args:
        block: `BasicBlock` (two 3 x 3 convolutions) or `Bottleneck` (1 x 1, 3 x 3 and 1 x 1).
        layers: number of blocks of each of the four stages.
        num_classes: number of classes, the size of the output.
        zero_init_residual: initialize the residual branches to 0, so that blocks start as the identity.
        groups: groups of the 3 x 3 convolutions.
        width_per_group: channels per group in the first stage.
        replace_stride_with_dilation: for each of the last three stages, whether to use dilation instead of
            stride; None for no stage.
        norm_layer: called with the number of channels to create a normalization; None for `BatchNorm2d`.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `replace_stride_with_dilation` does not have three values, or `BasicBlock` is used with other
            values of `groups` and `width_per_group` than 1 and 64.

    Example:
        >>> from flambeau_vision import models
        >>> from flambeau_vision.models.resnet import BasicBlock
        >>> models.ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        dilate = replace_stride_with_dilation or (False, False, False)
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize_weights(zero_init_residual)

    def _make_layer(
        self,
        block: type[BasicBlock | Bottleneck],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        first_dilation = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, planes * block.expansion, stride),
                self._norm_layer(planes * block.expansion),
            )
        shared = (self.groups, self.base_width)
        layers = [block(self.inplanes, planes, stride, downsample, *shared, first_dilation, self._norm_layer)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes, 1, None, *shared, self.dilation, self._norm_layer))
        return nn.Sequential(*layers)

    def _initialize_weights(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, Bottleneck):
                    nn.init.constant_(module.bn3.weight, 0)
                elif isinstance(module, BasicBlock):
                    nn.init.constant_(module.bn2.weight, 0)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class ResNet18_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet18-f37072fd", 11689512)
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet34-b627a593", 21797672)
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet50-0676ba61", 25557032)
    IMAGENET1K_V2 = imagenet("resnet50-11ad3fa6", 25557032, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class ResNet101_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet101-63fe2227", 44549160)
    IMAGENET1K_V2 = imagenet("resnet101-cd907fc2", 44549160, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class ResNet152_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet152-394f9c45", 60192808)
    IMAGENET1K_V2 = imagenet("resnet152-f82ba261", 60192808, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class ResNeXt50_32X4D_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnext50_32x4d-7cdf4587", 25028904)
    IMAGENET1K_V2 = imagenet("resnext50_32x4d-1a0047aa", 25028904, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_32X8D_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnext101_32x8d-8ba56ff5", 88791336)
    IMAGENET1K_V2 = imagenet("resnext101_32x8d-110c445d", 88791336, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_64X4D_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnext101_64x4d-173b62eb", 83455272, resize_size=232)
    DEFAULT = IMAGENET1K_V1


class Wide_ResNet50_2_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("wide_resnet50_2-95faca4d", 68883240)
    IMAGENET1K_V2 = imagenet("wide_resnet50_2-9ba9bcbe", 68883240, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class Wide_ResNet101_2_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("wide_resnet101_2-32ee1156", 126886696)
    IMAGENET1K_V2 = imagenet("wide_resnet101_2-d733dc28", 126886696, resize_size=232)
    DEFAULT = IMAGENET1K_V2


@register_model(ResNet18_Weights)
def resnet18(**kwargs: Any) -> ResNet:
    """Build a ResNet of 18 layers; further arguments are passed to `ResNet`."""
    return ResNet(BasicBlock, [2, 2, 2, 2], **kwargs)


@register_model(ResNet34_Weights)
def resnet34(**kwargs: Any) -> ResNet:
    """Build a ResNet of 34 layers; further arguments are passed to `ResNet`."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **kwargs)


@register_model(ResNet50_Weights)
def resnet50(**kwargs: Any) -> ResNet:
    """Build a ResNet of 50 layers; further arguments are passed to `ResNet`."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **kwargs)


@register_model(ResNet101_Weights)
def resnet101(**kwargs: Any) -> ResNet:
    """Build a ResNet of 101 layers; further arguments are passed to `ResNet`."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **kwargs)


@register_model(ResNet152_Weights)
def resnet152(**kwargs: Any) -> ResNet:
    """Build a ResNet of 152 layers; further arguments are passed to `ResNet`."""
    return ResNet(Bottleneck, [3, 8, 36, 3], **kwargs)


@register_model(ResNeXt50_32X4D_Weights)
def resnext50_32x4d(**kwargs: Any) -> ResNet:
    """Build a ResNeXt of 50 layers, 32 groups of 4 channels; further arguments are passed to `ResNet`.

    Xie, Girshick, Dollár, Tu and He, [Aggregated Residual Transformations for Deep Neural
    Networks](https://arxiv.org/abs/1611.05431), 2016.
    """
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"groups": 32, "width_per_group": 4, **kwargs})


@register_model(ResNeXt101_32X8D_Weights)
def resnext101_32x8d(**kwargs: Any) -> ResNet:
    """Build a ResNeXt of 101 layers, 32 groups of 8 channels; further arguments are passed to `ResNet`."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 32, "width_per_group": 8, **kwargs})


@register_model(ResNeXt101_64X4D_Weights)
def resnext101_64x4d(**kwargs: Any) -> ResNet:
    """Build a ResNeXt of 101 layers, 64 groups of 4 channels; further arguments are passed to `ResNet`."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 64, "width_per_group": 4, **kwargs})


@register_model(Wide_ResNet50_2_Weights)
def wide_resnet50_2(**kwargs: Any) -> ResNet:
    """Build a ResNet of 50 layers, twice as wide inside its blocks; further arguments are passed to `ResNet`.

    Zagoruyko and Komodakis, [Wide Residual Networks](https://arxiv.org/abs/1605.07146), 2016.
    """
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"width_per_group": 128, **kwargs})


@register_model(Wide_ResNet101_2_Weights)
def wide_resnet101_2(**kwargs: Any) -> ResNet:
    """Build a ResNet of 101 layers, twice as wide inside its blocks; further arguments are passed to `ResNet`."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"width_per_group": 128, **kwargs})
