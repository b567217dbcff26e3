"""ConvNeXt: convolutional networks with design elements of transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ..ops.dropping import StochasticDepth
from ..ops.misc import Conv2dNormActivation, Permute
from ._api import WeightsEnum, register_model
from ._meta import imagenet

__all__ = [
    "ConvNeXt",
    "ConvNeXt_Base_Weights",
    "ConvNeXt_Large_Weights",
    "ConvNeXt_Small_Weights",
    "ConvNeXt_Tiny_Weights",
    "convnext_base",
    "convnext_large",
    "convnext_small",
    "convnext_tiny",
]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


class LayerNorm2d(nn.LayerNorm):
    """Layer normalization over the channels of each pixel."""

    def forward(self, x: Tensor) -> Tensor:
        x = F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """Residual block: a 7 x 7 depthwise convolution, two linear layers over the channels, and a learned scale."""

    def __init__(self, dim: int, layer_scale: float, stochastic_depth_prob: float, norm_layer: Layer | None = None) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim, bias=True),
            Permute([0, 2, 3, 1]),
            norm_layer(dim),
            nn.Linear(in_features=dim, out_features=4 * dim, bias=True),
            nn.GELU(),
            nn.Linear(in_features=4 * dim, out_features=dim, bias=True),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(torch.ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:
        result = self.stochastic_depth(self.layer_scale * self.block(input))
        result += input
        return result


@dataclass
class CNBlockConfig:
    """Configuration of a stage: input channels, output channels (None for the last stage) and number of blocks."""

    input_channels: int
    out_channels: int | None
    num_layers: int


class ConvNeXt(nn.Module):
    """ConvNeXt: a convolutional network with design elements of transformers.

    Liu, Mao, Wu, Feichtenhofer, Darrell and Xie, [A ConvNet for the 2020s](https://arxiv.org/abs/2201.03545), 2022.

    Args:
        block_setting: the stages, each a `CNBlockConfig(input_channels, out_channels, num_layers)`.
        stochastic_depth_prob: probability of skipping the last block in training; it decreases linearly for earlier blocks.
        layer_scale: initial value of the learned factor of the residual branches.
        num_classes: number of classes, the size of the output.
        block: class of the blocks; None for `CNBlock`.
        norm_layer: called with the number of channels to create the normalizations between stages; None for `LayerNorm2d`.

    Shape:
        - Input: `(N, 3, H, W)`; the first stage has a quarter of the resolution, each further stage half of the previous one.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `block_setting` is empty.

    Example:
        >>> from flambeau_vision import models
        >>> from flambeau_vision.models.convnext import CNBlockConfig
        >>> tiny = models.ConvNeXt([CNBlockConfig(8, 16, 1), CNBlockConfig(16, None, 1)], num_classes=10)
        >>> tiny(torch.rand(1, 3, 32, 32)).shape
        torch.Size([1, 10])
    """

    def __init__(
        self,
        block_setting: Sequence[CNBlockConfig],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        block = block or CNBlock
        norm_layer = norm_layer or partial(LayerNorm2d, eps=1e-6)
        stem = {"stride": 4, "padding": 0, "norm_layer": norm_layer, "activation_layer": None, "bias": True}
        layers: list[nn.Module] = [Conv2dNormActivation(3, block_setting[0].input_channels, kernel_size=4, **stem)]
        last_block, num_blocks_before = sum(stage.num_layers for stage in block_setting) - 1.0, 0
        for stage in block_setting:
            channels = stage.input_channels
            probabilities = [stochastic_depth_prob * (num_blocks_before + i) / last_block for i in range(stage.num_layers)]
            layers.append(nn.Sequential(*(block(channels, layer_scale, p) for p in probabilities)))
            num_blocks_before += stage.num_layers
            if stage.out_channels is not None:
                halve = nn.Conv2d(channels, stage.out_channels, kernel_size=2, stride=2)
                layers.append(nn.Sequential(norm_layer(channels), halve))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(norm_layer(last), nn.Flatten(1), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)))


def _convnext(width: int, third_stage: int, stochastic_depth_prob: float, **kwargs: Any) -> ConvNeXt:
    stages = [
        CNBlockConfig(width, 2 * width, 3),
        CNBlockConfig(2 * width, 4 * width, 3),
        CNBlockConfig(4 * width, 8 * width, third_stage),
        CNBlockConfig(8 * width, None, 3),
    ]
    return ConvNeXt(stages, **{"stochastic_depth_prob": stochastic_depth_prob, **kwargs})


class ConvNeXt_Tiny_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("convnext_tiny-983f1562", 28589128, resize_size=236)
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Small_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("convnext_small-0c510722", 50223688, resize_size=230)
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Base_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("convnext_base-6075fbad", 88591464, resize_size=232)
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Large_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("convnext_large-ea097f82", 197767336, resize_size=232)
    DEFAULT = IMAGENET1K_V1


@register_model(ConvNeXt_Tiny_Weights)
def convnext_tiny(**kwargs: Any) -> ConvNeXt:
    """Build the tiny ConvNeXt; further arguments are passed to `ConvNeXt`."""
    return _convnext(96, 9, 0.1, **kwargs)


@register_model(ConvNeXt_Small_Weights)
def convnext_small(**kwargs: Any) -> ConvNeXt:
    """Build the small ConvNeXt; further arguments are passed to `ConvNeXt`."""
    return _convnext(96, 27, 0.4, **kwargs)


@register_model(ConvNeXt_Base_Weights)
def convnext_base(**kwargs: Any) -> ConvNeXt:
    """Build the base ConvNeXt; further arguments are passed to `ConvNeXt`."""
    return _convnext(128, 27, 0.5, **kwargs)


@register_model(ConvNeXt_Large_Weights)
def convnext_large(**kwargs: Any) -> ConvNeXt:
    """Build the large ConvNeXt; further arguments are passed to `ConvNeXt`."""
    return _convnext(192, 27, 0.5, **kwargs)
