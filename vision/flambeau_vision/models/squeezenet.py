"""SqueezeNet (Iandola et al., 2016): 1 x 1 convolutions reduce the channels; 1/50 of AlexNet's parameters, same accuracy."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import nn

from ._api import WeightsEnum, register_model
from ._meta import imagenet

__all__ = ["SqueezeNet", "SqueezeNet1_0_Weights", "SqueezeNet1_1_Weights", "squeezenet1_0", "squeezenet1_1"]

Tensor = torch.Tensor


class Fire(nn.Module):
    """Fire module: a 1 x 1 convolution that reduces the channels, then parallel 1 x 1 and 3 x 3 convolutions."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        wide = self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))
        return torch.cat(wide, 1)


def _pool() -> nn.MaxPool2d:
    return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)


def _features_1_0() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 96, kernel_size=7, stride=2),
        nn.ReLU(inplace=True),
        _pool(),
        Fire(96, 16, 64, 64),
        Fire(128, 16, 64, 64),
        Fire(128, 32, 128, 128),
        _pool(),
        Fire(256, 32, 128, 128),
        Fire(256, 48, 192, 192),
        Fire(384, 48, 192, 192),
        Fire(384, 64, 256, 256),
        _pool(),
        Fire(512, 64, 256, 256),
    )


def _features_1_1() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 64, kernel_size=3, stride=2),
        nn.ReLU(inplace=True),
        _pool(),
        Fire(64, 16, 64, 64),
        Fire(128, 16, 64, 64),
        _pool(),
        Fire(128, 32, 128, 128),
        Fire(256, 32, 128, 128),
        _pool(),
        Fire(256, 48, 192, 192),
        Fire(384, 48, 192, 192),
        Fire(384, 64, 256, 256),
        Fire(512, 64, 256, 256),
    )


class SqueezeNet(nn.Module):
    """SqueezeNet: a network as accurate as AlexNet, with 1/50 of the parameters of AlexNet.

    Iandola, Han, Moskewicz, Ashraf, Dally and Keutzer, [SqueezeNet](https://arxiv.org/abs/1602.07360), 2016.

    Args:
        version: `"1_0"`, or `"1_1"`, which requires less than half of the operations of 1.0.
        num_classes: number of classes, the size of the output.
        dropout: dropout probability before the last convolution.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `version` is unknown.

    Example:
        >>> from flambeau_vision import models
        >>> models.SqueezeNet("1_1", num_classes=10)(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        if version not in ("1_0", "1_1"):
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        self.num_classes = num_classes
        self.features = _features_1_0() if version == "1_0" else _features_1_1()
        final_conv = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), final_conv, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is final_conv:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return torch.flatten(self.classifier(self.features(x)), 1)


class SqueezeNet1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("squeezenet1_0-b66bff10", 1248424)
    DEFAULT = IMAGENET1K_V1


class SqueezeNet1_1_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("squeezenet1_1-b8a52dc0", 1235496)
    DEFAULT = IMAGENET1K_V1


@register_model(SqueezeNet1_0_Weights)
def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """Build SqueezeNet 1.0; further arguments are passed to `SqueezeNet`."""
    return SqueezeNet("1_0", **kwargs)


@register_model(SqueezeNet1_1_Weights)
def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """Build SqueezeNet 1.1; further arguments are passed to `SqueezeNet`."""
    return SqueezeNet("1_1", **kwargs)
