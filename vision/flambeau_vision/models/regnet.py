"""RegNet (Radosavovic et al., 2020): residual networks whose widths follow a linear rule. RegNetY has squeeze-and-excitation."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import flambeau as torch
from flambeau import nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..transforms import InterpolationMode
from ._api import WeightsEnum, register_model
from ._meta import imagenet
from ._utils import make_divisible

__all__ = [
    "BlockParams",
    "RegNet",
    "RegNet_X_1_6GF_Weights",
    "RegNet_X_3_2GF_Weights",
    "RegNet_X_8GF_Weights",
    "RegNet_X_16GF_Weights",
    "RegNet_X_32GF_Weights",
    "RegNet_X_400MF_Weights",
    "RegNet_X_800MF_Weights",
    "RegNet_Y_1_6GF_Weights",
    "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_8GF_Weights",
    "RegNet_Y_16GF_Weights",
    "RegNet_Y_32GF_Weights",
    "RegNet_Y_128GF_Weights",
    "RegNet_Y_400MF_Weights",
    "RegNet_Y_800MF_Weights",
    "regnet_x_1_6gf",
    "regnet_x_3_2gf",
    "regnet_x_8gf",
    "regnet_x_16gf",
    "regnet_x_32gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_y_1_6gf",
    "regnet_y_3_2gf",
    "regnet_y_8gf",
    "regnet_y_16gf",
    "regnet_y_32gf",
    "regnet_y_128gf",
    "regnet_y_400mf",
    "regnet_y_800mf",
]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


@dataclass
class BlockParams:
    """Parameters of the stages of a `RegNet`. The list attributes have one entry per stage.

    Attributes:
        depths: number of blocks of each stage.
        widths: number of output channels of each stage.
        group_widths: channels per group of the 3 x 3 convolution.
        bottleneck_multipliers: channels of the 3 x 3 convolution, divided by `widths`.
        strides: stride of the first block of each stage.
        se_ratio: channels of the `SqueezeExcitation` bottleneck, divided by the input channels of the block;
            None for no squeeze-and-excitation.
    """

    depths: Sequence[int]
    widths: Sequence[int]
    group_widths: Sequence[int]
    bottleneck_multipliers: Sequence[float]
    strides: Sequence[int]
    se_ratio: float | None = None

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> BlockParams:
        """Compute the stages from the width rule of the paper.

        Widths increase linearly from block to block. They are rounded to the nearest `w_0 * w_m ** k`, and then to a multiple
        of 8. Consecutive blocks of the same width form a stage.

        Args:
            depth: total number of blocks.
            w_0: width of the first block, a multiple of 8.
            w_a: increase of the width from one block to the next, before rounding; not negative.
            w_m: ratio of the widths of consecutive stages, greater than 1.
            group_width: channels per group.
            bottleneck_multiplier: channels of the 3 x 3 convolution, divided by the block width.
            se_ratio: see `BlockParams`.

        Raises:
            ValueError: `w_0`, `w_a` or `w_m` is out of range.

        Example:
            >>> from flambeau_vision.models.regnet import BlockParams
            >>> shape = BlockParams.from_init_params(depth=16, w_0=48, w_a=27.89, w_m=2.09, group_width=8)
            >>> shape.widths, shape.depths
            ([48, 104, 208, 440], [1, 3, 6, 6])
        """
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8:
            raise ValueError("Invalid RegNet settings")
        steps = [round(math.log(1 + block * w_a / w_0) / math.log(w_m)) for block in range(depth)]
        widths = [round(w_0 * w_m**step / 8) * 8 for step in steps]
        stages = sorted(set(widths))
        groups = [min(group_width, int(width * bottleneck_multiplier)) for width in stages]
        middles = [make_divisible(int(width * bottleneck_multiplier), group) for width, group in zip(stages, groups, strict=True)]
        return cls(
            depths=[widths.count(width) for width in stages],
            widths=[int(middle / bottleneck_multiplier) for middle in middles],
            group_widths=groups,
            bottleneck_multipliers=[bottleneck_multiplier] * len(stages),
            strides=[2] * len(stages),
            se_ratio=se_ratio,
        )


class BottleneckTransform(nn.Sequential):
    """Three convolutions: 1 x 1, grouped 3 x 3, and 1 x 1; with optional squeeze-and-excitation before the last one."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None,
    ) -> None:
        convolution = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=activation_layer)
        width = round(width_out * bottleneck_multiplier)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["a"] = convolution(width_in, width, 1)
        layers["b"] = convolution(width, width, 3, stride, groups=width // group_width)
        if se_ratio:
            layers["se"] = SqueezeExcitation(width, round(se_ratio * width_in), activation=activation_layer)
        layers["c"] = convolution(width, width_out, 1, activation_layer=None)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """Residual block with a `BottleneckTransform`."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = Conv2dNormActivation(width_in, width_out, 1, stride, norm_layer=norm_layer, activation_layer=None)
        shape = (group_width, bottleneck_multiplier, se_ratio)
        self.f = BottleneckTransform(width_in, width_out, stride, norm_layer, activation_layer, *shape)
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.proj is None else self.proj(x)
        return self.activation(shortcut + self.f(x))


class SimpleStemIN(Conv2dNormActivation):
    """First convolution, which halves height and width."""

    def __init__(self, width_in: int, width_out: int, norm_layer: Layer, activation_layer: Layer) -> None:
        super().__init__(width_in, width_out, 3, 2, norm_layer=norm_layer, activation_layer=activation_layer)


class RegNet(nn.Module):
    """RegNet: residual blocks whose widths increase linearly, rounded so that each stage has one width.

    Radosavovic, Kosaraju, Girshick, He and Dollár, [Designing Network Design Spaces](https://arxiv.org/abs/2003.13678), 2020.

    Args:
        block_params: the parameters of the stages.
        num_classes: number of classes, the size of the output.
        stem_width: channels after the first convolution.
        stem_type: called with input channels, output channels, `norm_layer` and `activation` to create the stem.
        block_type: class of the blocks, called like `ResBottleneckBlock`.
        norm_layer: called with the number of channels to create a normalization; None for `BatchNorm2d`.
        activation: called to create an activation; None for `ReLU`.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision import models
        >>> from flambeau_vision.models.regnet import BlockParams
        >>> shape = BlockParams.from_init_params(depth=4, w_0=8, w_a=8, w_m=2, group_width=8)
        >>> models.RegNet(shape, num_classes=10)(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Layer | None = None,
        block_type: Layer | None = None,
        norm_layer: Layer | None = None,
        activation: Layer | None = None,
    ) -> None:
        super().__init__()
        layers = (norm_layer or nn.BatchNorm2d, activation or nn.ReLU)
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, *layers)
        stages: OrderedDict[str, nn.Module] = OrderedDict()
        width_in, shape = stem_width, block_params
        parts = zip(shape.depths, shape.widths, shape.strides, shape.group_widths, shape.bottleneck_multipliers, strict=True)
        for number, (depth, width, stride, group_width, multiplier) in enumerate(parts, 1):
            blocks: OrderedDict[str, nn.Module] = OrderedDict()
            for index in range(depth):
                ends = (width_in, width, 1) if index else (width_in, width, stride)
                options = (group_width, multiplier, shape.se_ratio)
                blocks[f"block{number}-{index}"] = (block_type or ResBottleneckBlock)(*ends, *layers, *options)
                width_in = width
            stages[f"block{number}"] = nn.Sequential(blocks)
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width_in, num_classes)
        self._initialize_weights()

    def _initialize_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                # As in torchvision, the fan-out is not divided by the number of groups.
                fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
                nn.init.normal_(module.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0.0, std=0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.avgpool(self.trunk_output(self.stem(x))).flatten(start_dim=1))


_BICUBIC = {"interpolation": InterpolationMode.BICUBIC}


def _regnet(
    depth: int, w_0: int, w_a: float, w_m: float, group_width: int, se_ratio: float | None = None, **kwargs: Any
) -> RegNet:
    return RegNet(BlockParams.from_init_params(depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio), **kwargs)


class RegNet_X_400MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_400mf-adf1edd5", 5495976)
    IMAGENET1K_V2 = imagenet("regnet_x_400mf-62229a5f", 5495976, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_800MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_800mf-ad17e45c", 7259656)
    IMAGENET1K_V2 = imagenet("regnet_x_800mf-94a99ebd", 7259656, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_1_6GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_1_6gf-e3633e7f", 9190136)
    IMAGENET1K_V2 = imagenet("regnet_x_1_6gf-a12f2b72", 9190136, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_3_2GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_3_2gf-f342aeae", 15296552)
    IMAGENET1K_V2 = imagenet("regnet_x_3_2gf-7071aa85", 15296552, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_8GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_8gf-03ceed89", 39572648)
    IMAGENET1K_V2 = imagenet("regnet_x_8gf-2b70d774", 39572648, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_16GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_16gf-2007eb11", 54278536)
    IMAGENET1K_V2 = imagenet("regnet_x_16gf-ba3796d7", 54278536, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_32GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_32gf-9d47f8d0", 107811560)
    IMAGENET1K_V2 = imagenet("regnet_x_32gf-6eb8fdc6", 107811560, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_400MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_400mf-c65dace8", 4344144)
    IMAGENET1K_V2 = imagenet("regnet_y_400mf-e6988f5f", 4344144, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_800MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_800mf-1b27b58c", 6432512)
    IMAGENET1K_V2 = imagenet("regnet_y_800mf-58fc7688", 6432512, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_1_6GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_1_6gf-b11a554e", 11202430)
    IMAGENET1K_V2 = imagenet("regnet_y_1_6gf-0d7bc02a", 11202430, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_3_2GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_3_2gf-b5a9779c", 19436338)
    IMAGENET1K_V2 = imagenet("regnet_y_3_2gf-9180c971", 19436338, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_8GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_8gf-d0d0e4a8", 39381472)
    IMAGENET1K_V2 = imagenet("regnet_y_8gf-dc2b1b54", 39381472, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_16GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_16gf-9e6ed7dd", 83590140)
    IMAGENET1K_V2 = imagenet("regnet_y_16gf-3e4a00f9", 83590140, resize_size=232)
    IMAGENET1K_SWAG_E2E_V1 = imagenet("regnet_y_16gf_swag-43afe44d", 83590140, 384, 384, **_BICUBIC)
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet("regnet_y_16gf_lc_swag-f3ec0043", 83590140, 224, 224, **_BICUBIC)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_32GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_32gf-4dee3f7a", 145046770)
    IMAGENET1K_V2 = imagenet("regnet_y_32gf-8db6d4b5", 145046770, resize_size=232)
    IMAGENET1K_SWAG_E2E_V1 = imagenet("regnet_y_32gf_swag-04fdfa75", 145046770, 384, 384, **_BICUBIC)
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet("regnet_y_32gf_lc_swag-e1583746", 145046770, 224, 224, **_BICUBIC)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_128GF_Weights(WeightsEnum):
    IMAGENET1K_SWAG_E2E_V1 = imagenet("regnet_y_128gf_swag-c8ce3e52", 644812894, 384, 384, **_BICUBIC)
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet("regnet_y_128gf_lc_swag-cbe8ce12", 644812894, 224, 224, **_BICUBIC)
    DEFAULT = IMAGENET1K_SWAG_E2E_V1


@register_model(RegNet_X_400MF_Weights)
def regnet_x_400mf(**kwargs: Any) -> RegNet:
    """Build a RegNetX of 400 MFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(22, 24, 24.48, 2.54, 16, **kwargs)


@register_model(RegNet_X_800MF_Weights)
def regnet_x_800mf(**kwargs: Any) -> RegNet:
    """Build a RegNetX of 800 MFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(16, 56, 35.73, 2.28, 16, **kwargs)


@register_model(RegNet_X_1_6GF_Weights)
def regnet_x_1_6gf(**kwargs: Any) -> RegNet:
    """Build a RegNetX of 1.6 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(18, 80, 34.01, 2.25, 24, **kwargs)


@register_model(RegNet_X_3_2GF_Weights)
def regnet_x_3_2gf(**kwargs: Any) -> RegNet:
    """Build a RegNetX of 3.2 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(25, 88, 26.31, 2.25, 48, **kwargs)


@register_model(RegNet_X_8GF_Weights)
def regnet_x_8gf(**kwargs: Any) -> RegNet:
    """Build a RegNetX of 8 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(23, 80, 49.56, 2.88, 120, **kwargs)


@register_model(RegNet_X_16GF_Weights)
def regnet_x_16gf(**kwargs: Any) -> RegNet:
    """Build a RegNetX of 16 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(22, 216, 55.59, 2.1, 128, **kwargs)


@register_model(RegNet_X_32GF_Weights)
def regnet_x_32gf(**kwargs: Any) -> RegNet:
    """Build a RegNetX of 32 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(23, 320, 69.86, 2.0, 168, **kwargs)


@register_model(RegNet_Y_400MF_Weights)
def regnet_y_400mf(**kwargs: Any) -> RegNet:
    """Build a RegNetY of 400 MFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(16, 48, 27.89, 2.09, 8, se_ratio=0.25, **kwargs)


@register_model(RegNet_Y_800MF_Weights)
def regnet_y_800mf(**kwargs: Any) -> RegNet:
    """Build a RegNetY of 800 MFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(14, 56, 38.84, 2.4, 16, se_ratio=0.25, **kwargs)


@register_model(RegNet_Y_1_6GF_Weights)
def regnet_y_1_6gf(**kwargs: Any) -> RegNet:
    """Build a RegNetY of 1.6 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(27, 48, 20.71, 2.65, 24, se_ratio=0.25, **kwargs)


@register_model(RegNet_Y_3_2GF_Weights)
def regnet_y_3_2gf(**kwargs: Any) -> RegNet:
    """Build a RegNetY of 3.2 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(21, 80, 42.63, 2.66, 24, se_ratio=0.25, **kwargs)


@register_model(RegNet_Y_8GF_Weights)
def regnet_y_8gf(**kwargs: Any) -> RegNet:
    """Build a RegNetY of 8 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(17, 192, 76.82, 2.19, 56, se_ratio=0.25, **kwargs)


@register_model(RegNet_Y_16GF_Weights)
def regnet_y_16gf(**kwargs: Any) -> RegNet:
    """Build a RegNetY of 16 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(18, 200, 106.23, 2.48, 112, se_ratio=0.25, **kwargs)


@register_model(RegNet_Y_32GF_Weights)
def regnet_y_32gf(**kwargs: Any) -> RegNet:
    """Build a RegNetY of 32 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(20, 232, 115.89, 2.53, 232, se_ratio=0.25, **kwargs)


@register_model(RegNet_Y_128GF_Weights)
def regnet_y_128gf(**kwargs: Any) -> RegNet:
    """Build a RegNetY of 128 GFLOPs; further arguments are passed to `RegNet` after `block_params`."""
    return _regnet(27, 456, 160.83, 2.52, 264, se_ratio=0.25, **kwargs)
