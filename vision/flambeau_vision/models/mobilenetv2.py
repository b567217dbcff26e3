"""MobileNet v2 (Sandler et al., 2018): blocks that expand the channels, convolve each channel separately, and reduce them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

from ..ops.misc import Conv2dNormActivation
from ._api import WeightsEnum, register_model
from ._meta import imagenet
from ._utils import initialize_conv_net, make_divisible

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]

Tensor = torch.Tensor
Norm = Callable[..., nn.Module]

# For each stage: (expansion, output channels, number of blocks, stride of the first block).
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Module):
    """Inverted residual: 1 x 1 expansion, 3 x 3 depthwise convolution, 1 x 1 projection. A shortcut is added if the
    shape is unchanged.
    """

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Norm = nn.BatchNorm2d) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        hidden = round(inp * expand_ratio)
        options = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, hidden, kernel_size=1, **options))
        layers += [
            Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, **options),
            nn.Conv2d(hidden, oup, 1, 1, 0, bias=False),
            norm_layer(oup),
        ]
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """MobileNet v2: inverted residual blocks with depthwise convolutions.

    Sandler, Howard, Zhu, Zhmoginov and Chen, [MobileNetV2: Inverted Residuals and Linear
    Bottlenecks](https://arxiv.org/abs/1801.04381), 2018.

    Args:
        num_classes: number of classes, the size of the output.
        width_mult: factor that multiplies all numbers of channels.
        inverted_residual_setting: `(expansion, channels, blocks, stride)` of each stage; None for the values of the paper.
        round_nearest: numbers of channels are rounded to multiples of this number.
        block: class of the blocks; None for `InvertedResidual`.
        norm_layer: called with the number of channels to create a normalization; None for `BatchNorm2d`.
        dropout: dropout probability before the last layer.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `inverted_residual_setting` is empty or its entries do not have 4 elements.

    Example:
        >>> from flambeau_vision import models
        >>> models.MobileNetV2(num_classes=10, width_mult=0.25)(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Norm | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block = block or InvertedResidual
        norm_layer = norm_layer or nn.BatchNorm2d
        stages = _STAGES if inverted_residual_setting is None else inverted_residual_setting
        if not stages or len(stages[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {inverted_residual_setting}"
            )
        channels = make_divisible(32 * width_mult, round_nearest)
        self.last_channel = make_divisible(1280 * max(1.0, width_mult), round_nearest)
        options = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        features: list[nn.Module] = [Conv2dNormActivation(3, channels, stride=2, **options)]
        for expansion, width, blocks, first_stride in stages:
            out_channels = make_divisible(width * width_mult, round_nearest)
            for index in range(blocks):
                stride = first_stride if index == 0 else 1
                features.append(block(channels, out_channels, stride, expand_ratio=expansion, norm_layer=norm_layer))
                channels = out_channels
        features.append(Conv2dNormActivation(channels, self.last_channel, kernel_size=1, **options))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        initialize_conv_net(self)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class MobileNet_V2_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mobilenet_v2-b0353104", 3504872)
    IMAGENET1K_V2 = imagenet("mobilenet_v2-7ebf99e0", 3504872, resize_size=232)
    DEFAULT = IMAGENET1K_V2


@register_model(MobileNet_V2_Weights)
def mobilenet_v2(**kwargs: Any) -> MobileNetV2:
    """Build MobileNet v2; further arguments are passed to `MobileNetV2`."""
    return MobileNetV2(**kwargs)
