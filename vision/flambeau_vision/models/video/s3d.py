"""S3D (Xie et al., 2017): Inception blocks for videos, with convolutions over space followed by convolutions over time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import flambeau as torch
from flambeau import nn

from ...ops.misc import Conv3dNormActivation
from .._api import WeightsEnum, register_model
from ._meta import kinetics

__all__ = ["S3D", "S3D_Weights", "s3d"]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


class TemporalSeparableConv(nn.Sequential):
    """Separable 3D convolution: a convolution over height and width, then a convolution over time."""

    def __init__(self, in_planes: int, out_planes: int, kernel_size: int, stride: int, padding: int, norm_layer: Layer) -> None:
        size, step, border = kernel_size, stride, padding
        space = {"kernel_size": (1, size, size), "stride": (1, step, step), "padding": (0, border, border)}
        time = {"kernel_size": (size, 1, 1), "stride": (step, 1, 1), "padding": (border, 0, 0)}
        super().__init__(
            Conv3dNormActivation(in_planes, out_planes, **space, norm_layer=norm_layer, bias=False),
            Conv3dNormActivation(out_planes, out_planes, **time, norm_layer=norm_layer, bias=False),
        )


class SepInceptionBlock3D(nn.Module):
    """Inception block with four parallel branches of separable convolutions."""

    def __init__(
        self,
        in_planes: int,
        b0_out: int,
        b1_mid: int,
        b1_out: int,
        b2_mid: int,
        b2_out: int,
        b3_out: int,
        norm_layer: Layer,
    ) -> None:
        super().__init__()
        point = partial(Conv3dNormActivation, in_planes, kernel_size=1, norm_layer=norm_layer)
        self.branch0 = point(b0_out)
        self.branch1 = nn.Sequential(point(b1_mid), TemporalSeparableConv(b1_mid, b1_out, 3, 1, 1, norm_layer))
        self.branch2 = nn.Sequential(point(b2_mid), TemporalSeparableConv(b2_mid, b2_out, 3, 1, 1, norm_layer))
        self.branch3 = nn.Sequential(nn.MaxPool3d(3, stride=1, padding=1), point(b3_out))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.branch0(x), self.branch1(x), self.branch2(x), self.branch3(x)], 1)


# The arguments of each `SepInceptionBlock3D`: the input channels, then the channels of the convolutions in its branches. None
# is a max pooling over space and time.
_BLOCKS = (
    (192, 64, 96, 128, 16, 32, 32),
    (256, 128, 128, 192, 32, 96, 64),
    None,
    (480, 192, 96, 208, 16, 48, 64),
    (512, 160, 112, 224, 24, 64, 64),
    (512, 128, 128, 256, 24, 64, 64),
    (512, 112, 144, 288, 32, 64, 64),
    (528, 256, 160, 320, 32, 128, 128),
    None,
    (832, 256, 160, 320, 32, 128, 128),
    (832, 384, 192, 384, 48, 128, 128),
)


class S3D(nn.Module):
    """S3D: an Inception network with separable 3D convolutions for videos.

    Xie, Sun, Huang, Tu and Murphy, [Rethinking Spatiotemporal Feature Learning](https://arxiv.org/abs/1712.04851), 2017.

    Args:
        num_classes: number of classes, the size of the output.
        dropout: dropout probability before the last layer.
        norm_layer: called with the number of channels to create a normalization; None for `BatchNorm3d` with an eps and a
            momentum of 0.001.

    Shape:
        - Input: `(N, 3, T, H, W)`, at least 14 frames of 224 x 224.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision.models import video
        >>> model = video.S3D(num_classes=10)
        >>> model.classifier[1].out_channels
        10
    """

    def __init__(self, num_classes: int = 400, dropout: float = 0.2, norm_layer: Layer | None = None) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.BatchNorm3d, eps=0.001, momentum=0.001)
        layers: list[nn.Module] = [
            TemporalSeparableConv(3, 64, 7, 2, 3, norm_layer),
            nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)),
            Conv3dNormActivation(64, 64, kernel_size=1, norm_layer=norm_layer),
            TemporalSeparableConv(64, 192, 3, 1, 1, norm_layer),
            nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)),
        ]
        pools = iter([nn.MaxPool3d(3, 2, 1), nn.MaxPool3d(2, 2, 0)])
        layers += [SepInceptionBlock3D(*widths, norm_layer) if widths else next(pools) for widths in _BLOCKS]
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AvgPool3d((2, 7, 7), stride=1)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Conv3d(1024, num_classes, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x))).mean(dim=(2, 3, 4))


class S3D_Weights(WeightsEnum):
    KINETICS400_V1 = kinetics("s3d-d76dad2f", 8320048, (224, 224), (256, 256))
    DEFAULT = KINETICS400_V1


@register_model(S3D_Weights)
def s3d(**kwargs: Any) -> S3D:
    """Build S3D; further arguments are passed to `S3D`."""
    return S3D(**kwargs)
