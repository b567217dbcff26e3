"""EfficientNet (Tan and Le, 2019) and EfficientNetV2 (2021): convolutional networks scaled in depth, width and resolution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import flambeau as torch
from flambeau import nn

from ..ops.dropping import StochasticDepth
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..transforms import InterpolationMode
from ._api import WeightsEnum, register_model
from ._meta import imagenet
from ._utils import make_divisible

__all__ = [
    "EfficientNet",
    "EfficientNet_B0_Weights",
    "EfficientNet_B1_Weights",
    "EfficientNet_B2_Weights",
    "EfficientNet_B3_Weights",
    "EfficientNet_B4_Weights",
    "EfficientNet_B5_Weights",
    "EfficientNet_B6_Weights",
    "EfficientNet_B7_Weights",
    "EfficientNet_V2_L_Weights",
    "EfficientNet_V2_M_Weights",
    "EfficientNet_V2_S_Weights",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


class _MBConv(nn.Module):
    """Base class of the blocks. Subclasses define the layers; a shortcut is added if input and output have the same shape."""

    def __init__(self, cnf: Stage, stochastic_depth_prob: float, norm_layer: Layer) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        wide = make_divisible(cnf.input_channels * cnf.expand_ratio, 8)
        self.block = nn.Sequential(*self._layers(cnf, wide, norm_layer))
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class MBConv(_MBConv):
    """Inverted bottleneck: 1 x 1 expansion, depthwise convolution, squeeze-and-excitation, 1 x 1 projection."""

    @staticmethod
    def _layers(cnf: Stage, wide: int, norm_layer: Layer) -> list[nn.Module]:
        options = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = []
        if wide != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, wide, kernel_size=1, **options))
        layers.append(Conv2dNormActivation(wide, wide, kernel_size=cnf.kernel, stride=cnf.stride, groups=wide, **options))
        squeeze = max(1, cnf.input_channels // 4)
        layers.append(SqueezeExcitation(wide, squeeze, activation=partial(nn.SiLU, inplace=True)))
        options["activation_layer"] = None
        return [*layers, Conv2dNormActivation(wide, cnf.out_channels, kernel_size=1, **options)]


class FusedMBConv(_MBConv):
    """Fused inverted bottleneck: an ordinary convolution expands the channels, then a 1 x 1 convolution reduces them."""

    @staticmethod
    def _layers(cnf: Stage, wide: int, norm_layer: Layer) -> list[nn.Module]:
        options = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        filters = partial(Conv2dNormActivation, kernel_size=cnf.kernel, stride=cnf.stride)
        if wide == cnf.input_channels:
            return [filters(wide, cnf.out_channels, **options)]
        widen = filters(cnf.input_channels, wide, **options)
        options["activation_layer"] = None
        return [widen, Conv2dNormActivation(wide, cnf.out_channels, kernel_size=1, **options)]


@dataclass
class Stage:
    """Configuration of the blocks of one stage. `stride` applies to the first block only; the others have stride 1."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: type[_MBConv] = MBConv

    def scaled(self, width: float, depth: float) -> Stage:
        """Return a stage with the number of channels multiplied by `width` and the number of blocks by `depth`."""
        channels = [make_divisible(count * width, 8) for count in (self.input_channels, self.out_channels)]
        layers = math.ceil(self.num_layers * depth)
        return Stage(self.expand_ratio, self.kernel, self.stride, *channels, layers, self.block)


class EfficientNet(nn.Module):
    """EfficientNet and EfficientNetV2: depth, width and resolution are scaled together.

    Tan and Le, [EfficientNet: Rethinking Model Scaling](https://arxiv.org/abs/1905.11946), 2019, and
    [EfficientNetV2: Smaller Models and Faster Training](https://arxiv.org/abs/2104.00298), 2021.

    Args:
        inverted_residual_setting: the stages, each a `Stage`.
        dropout: dropout probability before the last layer.
        stochastic_depth_prob: probability of skipping the last block in training; it decreases linearly for earlier blocks.
        num_classes: number of classes, the size of the output.
        norm_layer: called with the number of channels to create a normalization; None for `BatchNorm2d`.
        last_channel: channels of the last convolution; None for four times the channels of the last stage.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `inverted_residual_setting` is empty.

    Example:
        >>> from flambeau_vision import models
        >>> from flambeau_vision.models.efficientnet import Stage
        >>> stages = [Stage(expand_ratio=2, kernel=3, stride=2, input_channels=8, out_channels=16, num_layers=1)]
        >>> models.EfficientNet(stages, dropout=0.2, num_classes=10)(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[Stage],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Layer | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        norm_layer = norm_layer or nn.BatchNorm2d
        stages = inverted_residual_setting
        options = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = [Conv2dNormActivation(3, stages[0].input_channels, kernel_size=3, stride=2, **options)]
        total, num_blocks_before = sum(stage.num_layers for stage in stages), 0
        for stage in stages:
            probabilities = [stochastic_depth_prob * (num_blocks_before + i) / total for i in range(stage.num_layers)]
            layers.append(self._make_stage(stage, probabilities, norm_layer))
            num_blocks_before += stage.num_layers
        last = stages[-1].out_channels
        last_channel = 4 * last if last_channel is None else last_channel
        layers.append(Conv2dNormActivation(last, last_channel, kernel_size=1, **options))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(last_channel, num_classes))
        self._initialize_weights()

    @staticmethod
    def _make_stage(stage: Stage, probabilities: list[float], norm_layer: Layer) -> nn.Sequential:
        following = Stage(stage.expand_ratio, stage.kernel, 1, stage.out_channels, stage.out_channels, 1, stage.block)
        stages = [stage] + [following] * (stage.num_layers - 1)
        return nn.Sequential(*(stage.block(config, p, norm_layer) for config, p in zip(stages, probabilities, strict=True)))

    def _initialize_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                bound = 1.0 / math.sqrt(module.out_features)
                nn.init.uniform_(module.weight, -bound, bound)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


_B0 = (
    Stage(1, 3, 1, 32, 16, 1),
    Stage(6, 3, 2, 16, 24, 2),
    Stage(6, 5, 2, 24, 40, 2),
    Stage(6, 3, 2, 40, 80, 3),
    Stage(6, 5, 1, 80, 112, 3),
    Stage(6, 5, 2, 112, 192, 4),
    Stage(6, 3, 1, 192, 320, 1),
)
_V2_S = (
    Stage(1, 3, 1, 24, 24, 2, FusedMBConv),
    Stage(4, 3, 2, 24, 48, 4, FusedMBConv),
    Stage(4, 3, 2, 48, 64, 4, FusedMBConv),
    Stage(4, 3, 2, 64, 128, 6),
    Stage(6, 3, 1, 128, 160, 9),
    Stage(6, 3, 2, 160, 256, 15),
)
_V2_M = (
    Stage(1, 3, 1, 24, 24, 3, FusedMBConv),
    Stage(4, 3, 2, 24, 48, 5, FusedMBConv),
    Stage(4, 3, 2, 48, 80, 5, FusedMBConv),
    Stage(4, 3, 2, 80, 160, 7),
    Stage(6, 3, 1, 160, 176, 14),
    Stage(6, 3, 2, 176, 304, 18),
    Stage(6, 3, 1, 304, 512, 5),
)
_V2_L = (
    Stage(1, 3, 1, 32, 32, 4, FusedMBConv),
    Stage(4, 3, 2, 32, 64, 7, FusedMBConv),
    Stage(4, 3, 2, 64, 96, 7, FusedMBConv),
    Stage(4, 3, 2, 96, 192, 10),
    Stage(6, 3, 1, 192, 224, 19),
    Stage(6, 3, 2, 224, 384, 25),
    Stage(6, 3, 1, 384, 640, 7),
)


def _b(width: float, depth: float, dropout: float, **kwargs: Any) -> EfficientNet:
    stages = [stage.scaled(width, depth) for stage in _B0]
    return EfficientNet(stages, **{"dropout": dropout, **kwargs})


def _large_b(width: float, depth: float, dropout: float, **kwargs: Any) -> EfficientNet:
    norm_layer = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
    return _b(width, depth, dropout, **{"norm_layer": norm_layer, **kwargs})


def _v2(stages: Sequence[Stage], dropout: float, **kwargs: Any) -> EfficientNet:
    defaults = {"dropout": dropout, "last_channel": 1280, "norm_layer": partial(nn.BatchNorm2d, eps=1e-03)}
    return EfficientNet(stages, **{**defaults, **kwargs})


_BICUBIC = {"interpolation": InterpolationMode.BICUBIC}


class EfficientNet_B0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_b0_rwightman-7f5810bc", 5288548, 224, 256, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B1_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_b1_rwightman-bac287d4", 7794184, 240, 256, **_BICUBIC)
    IMAGENET1K_V2 = imagenet("efficientnet_b1-c27df63c", 7794184, 240, 255)
    DEFAULT = IMAGENET1K_V2


class EfficientNet_B2_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_b2_rwightman-c35c1473", 9109994, 288, 288, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B3_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_b3_rwightman-b3899882", 12233232, 300, 320, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B4_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_b4_rwightman-23ab8bcd", 19341616, 380, 384, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B5_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_b5_lukemelas-1a07897c", 30389784, 456, 456, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B6_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_b6_lukemelas-24a108a5", 43040704, 528, 528, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B7_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_b7_lukemelas-c5b4e57e", 66347960, 600, 600, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_v2_s-dd5fe13b", 21458488, 384, 384)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_M_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_v2_m-dc08266a", 54139356, 480, 480)
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_L_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("efficientnet_v2_l-59c71312", 118515272, 480, 480, mean=(0.5,) * 3, std=(0.5,) * 3, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


@register_model(EfficientNet_B0_Weights)
def efficientnet_b0(**kwargs: Any) -> EfficientNet:
    """Build EfficientNet B0; further arguments are passed to `EfficientNet`."""
    return _b(1.0, 1.0, 0.2, **kwargs)


@register_model(EfficientNet_B1_Weights)
def efficientnet_b1(**kwargs: Any) -> EfficientNet:
    """Build EfficientNet B1; further arguments are passed to `EfficientNet`."""
    return _b(1.0, 1.1, 0.2, **kwargs)


@register_model(EfficientNet_B2_Weights)
def efficientnet_b2(**kwargs: Any) -> EfficientNet:
    """Build EfficientNet B2; further arguments are passed to `EfficientNet`."""
    return _b(1.1, 1.2, 0.3, **kwargs)


@register_model(EfficientNet_B3_Weights)
def efficientnet_b3(**kwargs: Any) -> EfficientNet:
    """Build EfficientNet B3; further arguments are passed to `EfficientNet`."""
    return _b(1.2, 1.4, 0.3, **kwargs)


@register_model(EfficientNet_B4_Weights)
def efficientnet_b4(**kwargs: Any) -> EfficientNet:
    """Build EfficientNet B4; further arguments are passed to `EfficientNet`."""
    return _b(1.4, 1.8, 0.4, **kwargs)


@register_model(EfficientNet_B5_Weights)
def efficientnet_b5(**kwargs: Any) -> EfficientNet:
    """Build EfficientNet B5; further arguments are passed to `EfficientNet`."""
    return _large_b(1.6, 2.2, 0.4, **kwargs)


@register_model(EfficientNet_B6_Weights)
def efficientnet_b6(**kwargs: Any) -> EfficientNet:
    """Build EfficientNet B6; further arguments are passed to `EfficientNet`."""
    return _large_b(1.8, 2.6, 0.5, **kwargs)


@register_model(EfficientNet_B7_Weights)
def efficientnet_b7(**kwargs: Any) -> EfficientNet:
    """Build EfficientNet B7; further arguments are passed to `EfficientNet`."""
    return _large_b(2.0, 3.1, 0.5, **kwargs)


@register_model(EfficientNet_V2_S_Weights)
def efficientnet_v2_s(**kwargs: Any) -> EfficientNet:
    """Build the small EfficientNet v2; further arguments are passed to `EfficientNet`."""
    return _v2(_V2_S, 0.2, **kwargs)


@register_model(EfficientNet_V2_M_Weights)
def efficientnet_v2_m(**kwargs: Any) -> EfficientNet:
    """Build the medium EfficientNet v2; further arguments are passed to `EfficientNet`."""
    return _v2(_V2_M, 0.3, **kwargs)


@register_model(EfficientNet_V2_L_Weights)
def efficientnet_v2_l(**kwargs: Any) -> EfficientNet:
    """Build the large EfficientNet v2; further arguments are passed to `EfficientNet`."""
    return _v2(_V2_L, 0.4, **kwargs)
