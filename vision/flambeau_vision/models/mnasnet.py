"""MNASNet (Tan et al., 2018): networks for phones, found by an architecture search that measures latency."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import nn

from ._api import WeightsEnum, register_model
from ._meta import imagenet
from ._utils import make_divisible

__all__ = [
    "MNASNet",
    "MNASNet0_5_Weights",
    "MNASNet0_75_Weights",
    "MNASNet1_0_Weights",
    "MNASNet1_3_Weights",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
]

Tensor = torch.Tensor

# The momentum of the paper is 0.9997 in the convention of TensorFlow, which is 1 minus the momentum of PyTorch.
_MOMENTUM = 1 - 0.9997


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, momentum=_MOMENTUM)


class _InvertedResidual(nn.Module):
    """Inverted residual: 1 x 1 expansion, depthwise convolution, 1 x 1 projection. A shortcut is added if the shape
    is unchanged.
    """

    def __init__(self, in_ch: int, out_ch: int, kernel_size: int, stride: int, expansion_factor: int) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        wide = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            nn.Conv2d(in_ch, wide, 1, bias=False),
            _norm(wide),
            nn.ReLU(inplace=True),
            nn.Conv2d(wide, wide, kernel_size, padding=kernel_size // 2, stride=stride, groups=wide, bias=False),
            _norm(wide),
            nn.ReLU(inplace=True),
            nn.Conv2d(wide, out_ch, 1, bias=False),
            _norm(out_ch),
        )

    def forward(self, input: Tensor) -> Tensor:
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def _stack(in_ch: int, out_ch: int, kernel_size: int, stride: int, expansion: int, repeats: int) -> nn.Sequential:
    first = _InvertedResidual(in_ch, out_ch, kernel_size, stride, expansion)
    following = [_InvertedResidual(out_ch, out_ch, kernel_size, 1, expansion) for _ in range(1, repeats)]
    return nn.Sequential(first, *following)


class MNASNet(nn.Module):
    """MNASNet: found by an architecture search that measures latency on phones.

    Tan et al., [MnasNet: Platform-Aware Neural Architecture Search for Mobile](https://arxiv.org/abs/1807.11626), 2018.

    Args:
        alpha: positive factor that multiplies all numbers of channels.
        num_classes: number of classes, the size of the output.
        dropout: dropout probability before the last layer.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `alpha` is not positive.

    Example:
        >>> from flambeau_vision import models
        >>> models.MNASNet(alpha=0.25, num_classes=10)(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        depths = [make_divisible(depth * alpha, 8) for depth in (32, 16, 24, 40, 80, 96, 192, 320)]
        self.layers = nn.Sequential(
            nn.Conv2d(3, depths[0], 3, padding=1, stride=2, bias=False),
            _norm(depths[0]),
            nn.ReLU(inplace=True),
            nn.Conv2d(depths[0], depths[0], 3, padding=1, stride=1, groups=depths[0], bias=False),
            _norm(depths[0]),
            nn.ReLU(inplace=True),
            nn.Conv2d(depths[0], depths[1], 1, padding=0, stride=1, bias=False),
            _norm(depths[1]),
            _stack(depths[1], depths[2], 3, 2, 3, 3),
            _stack(depths[2], depths[3], 5, 2, 3, 3),
            _stack(depths[3], depths[4], 5, 2, 6, 3),
            _stack(depths[4], depths[5], 3, 1, 6, 2),
            _stack(depths[5], depths[6], 5, 2, 6, 4),
            _stack(depths[6], depths[7], 3, 1, 6, 1),
            nn.Conv2d(depths[7], 1280, 1, padding=0, stride=1, bias=False),
            _norm(1280),
            nn.ReLU(inplace=True),
        )
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes))
        self._initialize_weights()

    def _initialize_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.layers(x).mean([2, 3]))


class MNASNet0_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mnasnet0.5_top1_67.823-3ffadce67e", 2218512)
    DEFAULT = IMAGENET1K_V1


class MNASNet0_75_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mnasnet0_75-7090bc5f", 3170208, resize_size=232)
    DEFAULT = IMAGENET1K_V1


class MNASNet1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mnasnet1.0_top1_73.512-f206786ef8", 4383312)
    DEFAULT = IMAGENET1K_V1


class MNASNet1_3_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mnasnet1_3-a4c69d6f", 6282256, resize_size=232)
    DEFAULT = IMAGENET1K_V1


@register_model(MNASNet0_5_Weights)
def mnasnet0_5(**kwargs: Any) -> MNASNet:
    """Build MNASNet with half of the channels; further arguments are passed to `MNASNet`."""
    return MNASNet(0.5, **kwargs)


@register_model(MNASNet0_75_Weights)
def mnasnet0_75(**kwargs: Any) -> MNASNet:
    """Build MNASNet with three quarters of the channels; further arguments are passed to `MNASNet`."""
    return MNASNet(0.75, **kwargs)


@register_model(MNASNet1_0_Weights)
def mnasnet1_0(**kwargs: Any) -> MNASNet:
    """Build MNASNet; further arguments are passed to `MNASNet`."""
    return MNASNet(1.0, **kwargs)


@register_model(MNASNet1_3_Weights)
def mnasnet1_3(**kwargs: Any) -> MNASNet:
    """Build MNASNet with 1.3 times the channels; further arguments are passed to `MNASNet`."""
    return MNASNet(1.3, **kwargs)
