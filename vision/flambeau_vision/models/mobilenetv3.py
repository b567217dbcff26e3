"""MobileNet v3 (Howard et al., 2019): MobileNet v2 blocks, some with squeeze-and-excitation, chosen by architecture search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flambeau as torch
from flambeau import nn

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import WeightsEnum, register_model
from ._meta import imagenet
from ._utils import initialize_conv_net, make_divisible

__all__ = [
    "MobileNetV3",
    "MobileNet_V3_Large_Weights",
    "MobileNet_V3_Small_Weights",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


class InvertedResidualConfig:
    """Configuration of one block. The given numbers of channels are multiplied by `width_mult` and rounded to multiples of 8."""

    def __init__(
        self,
        input_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str,
        stride: int,
        dilation: int,
        width_mult: float,
    ) -> None:
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride = stride
        self.dilation = dilation

    @staticmethod
    def adjust_channels(channels: int, width_mult: float) -> int:
        return make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """Inverted residual with optional squeeze-and-excitation. A shortcut is added if the shape is unchanged."""

    def __init__(
        self,
        cnf: InvertedResidualConfig,
        norm_layer: Layer,
        se_layer: Layer = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid),  # noqa: B008
    ) -> None:
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError(f"illegal stride value {cnf.stride}")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        wide = cnf.expanded_channels
        options = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish if cnf.use_hs else nn.ReLU}
        layers: list[nn.Module] = []
        if wide != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, wide, kernel_size=1, **options))
        stride = 1 if cnf.dilation > 1 else cnf.stride
        layers.append(
            Conv2dNormActivation(
                wide,
                wide,
                kernel_size=cnf.kernel,
                stride=stride,
                dilation=cnf.dilation,
                groups=wide,
                **options,
            )
        )
        if cnf.use_se:
            layers.append(se_layer(wide, make_divisible(wide // 4, 8)))
        options["activation_layer"] = None
        layers.append(Conv2dNormActivation(wide, cnf.out_channels, kernel_size=1, **options))
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    """MobileNet v3: blocks of MobileNet v2, some with squeeze-and-excitation, arranged by architecture search.

    Howard et al., [Searching for MobileNetV3](https://arxiv.org/abs/1905.02244), 2019. Use `mobilenet_v3_small`
    or `mobilenet_v3_large` to build it with the published blocks.

    Args:
        inverted_residual_setting: configuration of each block, an `InvertedResidualConfig`.
        last_channel: output size of the layer before the last.
        num_classes: number of classes, the size of the output.
        block: class of the blocks; None for `InvertedResidual`.
        norm_layer: called with the number of channels to create a normalization; None for `BatchNorm2d` with an eps of
            0.001 and a momentum of 0.01.
        dropout: dropout probability before the last layer.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `inverted_residual_setting` is empty.

    Example:
        >>> from flambeau_vision import models
        >>> network = models.mobilenet_v3_small(num_classes=10, width_mult=0.5)
        >>> isinstance(network, models.MobileNetV3), network(torch.rand(2, 3, 32, 32)).shape
        (True, torch.Size([2, 10]))
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        dropout: float = 0.2,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        first, last = inverted_residual_setting[0].input_channels, inverted_residual_setting[-1].out_channels
        options = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish}
        self.features = nn.Sequential(
            Conv2dNormActivation(3, first, kernel_size=3, stride=2, **options),
            *(block(cnf, norm_layer) for cnf in inverted_residual_setting),
            Conv2dNormActivation(last, 6 * last, kernel_size=1, **options),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * last, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        initialize_conv_net(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


def _settings(size: str, width_mult: float, reduced_tail: bool, dilated: bool) -> tuple[list[InvertedResidualConfig], int]:
    """Return the block configurations of the large or small network, and the output size of its layer before the last."""
    half, dilation = (2 if reduced_tail else 1), (2 if dilated else 1)
    # For each block: (input channels, kernel size, expanded channels, output channels, use_se, activation, stride, dilation)
    large = [
        (16, 3, 16, 16, False, "RE", 1, 1),
        (16, 3, 64, 24, False, "RE", 2, 1),
        (24, 3, 72, 24, False, "RE", 1, 1),
        (24, 5, 72, 40, True, "RE", 2, 1),
        (40, 5, 120, 40, True, "RE", 1, 1),
        (40, 5, 120, 40, True, "RE", 1, 1),
        (40, 3, 240, 80, False, "HS", 2, 1),
        (80, 3, 200, 80, False, "HS", 1, 1),
        (80, 3, 184, 80, False, "HS", 1, 1),
        (80, 3, 184, 80, False, "HS", 1, 1),
        (80, 3, 480, 112, True, "HS", 1, 1),
        (112, 3, 672, 112, True, "HS", 1, 1),
        (112, 5, 672, 160 // half, True, "HS", 2, dilation),
        (160 // half, 5, 960 // half, 160 // half, True, "HS", 1, dilation),
        (160 // half, 5, 960 // half, 160 // half, True, "HS", 1, dilation),
    ]
    small = [
        (16, 3, 16, 16, True, "RE", 2, 1),
        (16, 3, 72, 24, False, "RE", 2, 1),
        (24, 3, 88, 24, False, "RE", 1, 1),
        (24, 5, 96, 40, True, "HS", 2, 1),
        (40, 5, 240, 40, True, "HS", 1, 1),
        (40, 5, 240, 40, True, "HS", 1, 1),
        (40, 5, 120, 48, True, "HS", 1, 1),
        (48, 5, 144, 48, True, "HS", 1, 1),
        (48, 5, 288, 96 // half, True, "HS", 2, dilation),
        (96 // half, 5, 576 // half, 96 // half, True, "HS", 1, dilation),
        (96 // half, 5, 576 // half, 96 // half, True, "HS", 1, dilation),
    ]
    rows, last = (large, 1280) if size == "large" else (small, 1024)
    blocks = [InvertedResidualConfig(*row, width_mult) for row in rows]
    return blocks, InvertedResidualConfig.adjust_channels(last // half, width_mult)


def _mobilenet_v3(
    size: str, width_mult: float = 1.0, reduced_tail: bool = False, dilated: bool = False, **kwargs: Any
) -> MobileNetV3:
    return MobileNetV3(*_settings(size, width_mult, reduced_tail, dilated), **kwargs)


class MobileNet_V3_Large_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mobilenet_v3_large-8738ca79", 5483032)
    IMAGENET1K_V2 = imagenet("mobilenet_v3_large-5c1a4163", 5483032, resize_size=232)
    DEFAULT = IMAGENET1K_V2


class MobileNet_V3_Small_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mobilenet_v3_small-047dcff4", 2542856)
    DEFAULT = IMAGENET1K_V1


@register_model(MobileNet_V3_Large_Weights)
def mobilenet_v3_large(**kwargs: Any) -> MobileNetV3:
    """Build the large MobileNet v3; further arguments are passed to `MobileNetV3`.

    `width_mult` multiplies all numbers of channels. `reduced_tail` halves the channels of the last three blocks. `dilated`
    makes these blocks dilate their kernels instead of halving the resolution.
    """
    return _mobilenet_v3("large", **kwargs)


@register_model(MobileNet_V3_Small_Weights)
def mobilenet_v3_small(**kwargs: Any) -> MobileNetV3:
    """Build the small MobileNet v3. It takes the same arguments as `mobilenet_v3_large`."""
    return _mobilenet_v3("small", **kwargs)
