"""DenseNet: each layer receives the outputs of all previous layers of its block."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ._api import WeightsEnum, register_model
from ._meta import imagenet

__all__ = [
    "DenseNet",
    "DenseNet121_Weights",
    "DenseNet161_Weights",
    "DenseNet169_Weights",
    "DenseNet201_Weights",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
]

Tensor = torch.Tensor


class _DenseLayer(nn.Module):
    """Layer of a block: a 1 x 1 convolution of the outputs of all previous layers, then a 3 x 3 convolution."""

    def __init__(
        self,
        num_input_features: int,
        growth_rate: int,
        bn_size: int,
        drop_rate: float,
        memory_efficient: bool,
    ) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, bn_size * growth_rate, kernel_size=1, stride=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, kernel_size=3, stride=1, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def _narrow(self, *features: Tensor) -> Tensor:
        return self.conv1(self.relu1(self.norm1(torch.cat(features, 1))))

    def forward(self, features: list[Tensor]) -> Tensor:
        if self.memory_efficient and any(feature.requires_grad for feature in features):
            narrow = torch.utils.checkpoint.checkpoint(self._narrow, *features, use_reentrant=False)
        else:
            narrow = self._narrow(*features)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        return F.dropout(new, p=self.drop_rate, training=self.training) if self.drop_rate > 0 else new


class _DenseBlock(nn.ModuleDict):
    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool,
    ) -> None:
        super().__init__()
        for index in range(num_layers):
            channels = num_input_features + index * growth_rate
            layer = _DenseLayer(channels, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{index + 1}", layer)

    def forward(self, init_features: Tensor) -> Tensor:
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return torch.cat(features, 1)


class _Transition(nn.Sequential):
    """Layer between blocks that halves channels and resolution."""

    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, stride=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """DenseNet: each layer of a block receives the outputs of all previous layers.

    Huang, Liu, van der Maaten and Weinberger, [Densely Connected Convolutional Networks](https://arxiv.org/abs/1608.06993),
    2016.

    Args:
        growth_rate: number of channels that each layer adds.
        block_config: number of layers of each block.
        num_init_features: channels of the first convolution.
        bn_size: channels of the 1 x 1 convolutions, as a multiple of `growth_rate`.
        drop_rate: dropout probability of the output of each layer.
        num_classes: number of classes, the size of the output.
        memory_efficient: recompute features in the backward pass instead of storing them.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision import models
        >>> small = models.DenseNet(growth_rate=8, block_config=(2, 2), num_init_features=16, num_classes=10)
        >>> small(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, ...] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict(
                conv0=nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False),
                norm0=nn.BatchNorm2d(num_init_features),
                relu0=nn.ReLU(inplace=True),
                pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
            )
        )
        channels = num_init_features
        for index, num_layers in enumerate(block_config, start=1):
            block = _DenseBlock(num_layers, channels, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{index}", block)
            channels += num_layers * growth_rate
            if index < len(block_config):
                self.features.add_module(f"transition{index}", _Transition(channels, channels // 2))
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, num_classes)
        self._initialize_weights()
        self.register_load_state_dict_pre_hook(_rename_old_keys)

    def _initialize_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        features = F.relu(self.features(x), inplace=True)
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(features, (1, 1)), 1))


def _rename_old_keys(module: DenseNet, state_dict: dict, *args: object) -> None:
    # Published weights have legacy names with dots: "denselayer1.norm.1" for "denselayer1.norm1".
    for key in list(state_dict):
        new = re.sub(r"(denselayer\d+\.(?:norm|conv))\.([12])\.", r"\1\2.", key)
        if new != key:
            state_dict[new] = state_dict.pop(key)


class DenseNet121_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("densenet121-a639ec97", 7978856)
    DEFAULT = IMAGENET1K_V1


class DenseNet161_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("densenet161-8d451a50", 28681000)
    DEFAULT = IMAGENET1K_V1


class DenseNet169_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("densenet169-b2777c0a", 14149480)
    DEFAULT = IMAGENET1K_V1


class DenseNet201_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("densenet201-c1103571", 20013928)
    DEFAULT = IMAGENET1K_V1


@register_model(DenseNet121_Weights)
def densenet121(**kwargs: Any) -> DenseNet:
    """Build a DenseNet of 121 layers; further arguments are passed to `DenseNet`."""
    return DenseNet(32, (6, 12, 24, 16), 64, **kwargs)


@register_model(DenseNet161_Weights)
def densenet161(**kwargs: Any) -> DenseNet:
    """Build a DenseNet of 161 layers; further arguments are passed to `DenseNet`."""
    return DenseNet(48, (6, 12, 36, 24), 96, **kwargs)


@register_model(DenseNet169_Weights)
def densenet169(**kwargs: Any) -> DenseNet:
    """Build a DenseNet of 169 layers; further arguments are passed to `DenseNet`."""
    return DenseNet(32, (6, 12, 32, 32), 64, **kwargs)


@register_model(DenseNet201_Weights)
def densenet201(**kwargs: Any) -> DenseNet:
    """Build a DenseNet of 201 layers; further arguments are passed to `DenseNet`."""
    return DenseNet(32, (6, 12, 48, 32), 64, **kwargs)
