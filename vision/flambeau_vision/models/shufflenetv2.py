"""ShuffleNet v2 (Ma et al., 2018): blocks that transform half of the channels, then shuffle all channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

from ._api import WeightsEnum, register_model
from ._meta import imagenet

__all__ = [
    "ShuffleNetV2",
    "ShuffleNet_V2_X0_5_Weights",
    "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights",
    "ShuffleNet_V2_X2_0_Weights",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]

Tensor = torch.Tensor


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Divide the channels into `groups` and interleave them: the first of each group, then the second of each, and so on."""
    batch, channels, height, width = x.size()
    x = x.view(batch, groups, channels // groups, height, width)
    return torch.transpose(x, 1, 2).contiguous().view(batch, channels, height, width)


def _pointwise(inp: int, oup: int) -> list[nn.Module]:
    conv = nn.Conv2d(inp, oup, kernel_size=1, stride=1, padding=0, bias=False)
    return [conv, nn.BatchNorm2d(oup), nn.ReLU(inplace=True)]


def _depthwise(channels: int, stride: int) -> list[nn.Module]:
    conv = nn.Conv2d(channels, channels, 3, stride, padding=1, bias=False, groups=channels)
    return [conv, nn.BatchNorm2d(channels)]


class InvertedResidual(nn.Module):
    """Transform half of the channels, keep the other half, and shuffle all channels.

    At stride 2, nothing is kept: two branches of convolutions each compute half of the output channels from the whole input.
    """

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        branch = oup // 2
        if stride == 1 and inp != branch * 2:
            raise ValueError(f"With stride 1 the {inp} input channels have to be as many as the {oup} output channels")
        self.stride = stride
        self.branch1 = nn.Sequential(*(_depthwise(inp, stride) + _pointwise(inp, branch) if stride > 1 else []))
        self.branch2 = nn.Sequential(
            *_pointwise(inp if stride > 1 else branch, branch),
            *_depthwise(branch, stride),
            *_pointwise(branch, branch),
        )

    def forward(self, x: Tensor) -> Tensor:
        passed, filtered = x.chunk(2, dim=1) if self.stride == 1 else (self.branch1(x), x)
        return channel_shuffle(torch.cat((passed, self.branch2(filtered)), dim=1), 2)


class ShuffleNetV2(nn.Module):
    """ShuffleNet v2: each block transforms half of the channels, then shuffles all channels.

    Ma, Zhang, Zheng and Sun, [ShuffleNet V2: Practical Guidelines for Efficient CNN Architecture
    Design](https://arxiv.org/abs/1807.11164), 2018.

    Args:
        stages_repeats: number of blocks of each of the three stages.
        stages_out_channels: channels of the first convolution, the three stages and the last convolution.
        num_classes: number of classes, the size of the output.
        inverted_residual: class of the blocks.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `stages_repeats` does not have 3 elements, or `stages_out_channels` does not have 5.

    Example:
        >>> from flambeau_vision import models
        >>> network = models.ShuffleNetV2([1, 1, 1], [8, 16, 32, 64, 128], num_classes=10)
        >>> network(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        stages_repeats: Sequence[int],
        stages_out_channels: Sequence[int],
        num_classes: int = 1000,
        inverted_residual: Callable[..., nn.Module] = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        first, *stages, last = stages_out_channels
        self.conv1 = nn.Sequential(nn.Conv2d(3, first, 3, 2, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.stage2: nn.Sequential
        self.stage3: nn.Sequential
        self.stage4: nn.Sequential
        channels = first
        for number, (repeats, width) in enumerate(zip(stages_repeats, stages, strict=True), start=2):
            blocks = [inverted_residual(channels, width, 2)]
            blocks += [inverted_residual(width, width, 1) for _ in range(repeats - 1)]
            setattr(self, f"stage{number}", nn.Sequential(*blocks))
            channels = width
        self.conv5 = nn.Sequential(*_pointwise(channels, last))
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))


class ShuffleNet_V2_X0_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("shufflenetv2_x0.5-f707e7126e", 1366792)
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("shufflenetv2_x1-5666bf0f80", 2278604)
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X1_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("shufflenetv2_x1_5-3c479a10", 3503624, resize_size=232)
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X2_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("shufflenetv2_x2_0-8be3c8ee", 7393996, resize_size=232)
    DEFAULT = IMAGENET1K_V1


@register_model(ShuffleNet_V2_X0_5_Weights)
def shufflenet_v2_x0_5(**kwargs: Any) -> ShuffleNetV2:
    """Build ShuffleNet v2 with half of the channels; further arguments are passed to `ShuffleNetV2`."""
    return ShuffleNetV2([4, 8, 4], [24, 48, 96, 192, 1024], **kwargs)


@register_model(ShuffleNet_V2_X1_0_Weights)
def shufflenet_v2_x1_0(**kwargs: Any) -> ShuffleNetV2:
    """Build ShuffleNet v2; further arguments are passed to `ShuffleNetV2`."""
    return ShuffleNetV2([4, 8, 4], [24, 116, 232, 464, 1024], **kwargs)


@register_model(ShuffleNet_V2_X1_5_Weights)
def shufflenet_v2_x1_5(**kwargs: Any) -> ShuffleNetV2:
    """Build ShuffleNet v2 with 1.5 times the channels; further arguments are passed to `ShuffleNetV2`."""
    return ShuffleNetV2([4, 8, 4], [24, 176, 352, 704, 1024], **kwargs)


@register_model(ShuffleNet_V2_X2_0_Weights)
def shufflenet_v2_x2_0(**kwargs: Any) -> ShuffleNetV2:
    """Build ShuffleNet v2 with twice the channels; further arguments are passed to `ShuffleNetV2`."""
    return ShuffleNetV2([4, 8, 4], [24, 244, 488, 976, 2048], **kwargs)
