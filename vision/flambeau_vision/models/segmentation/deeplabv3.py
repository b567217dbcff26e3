"""DeepLab v3 (Chen et al., 2017): semantic segmentation with parallel convolutions of several dilations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from .._api import WeightsEnum, register_model
from ._base import SimpleSegmentationModel, build, coco_with_voc_labels
from .fcn import FCNHead

__all__ = [
    "DeepLabV3",
    "DeepLabV3_MobileNet_V3_Large_Weights",
    "DeepLabV3_ResNet50_Weights",
    "DeepLabV3_ResNet101_Weights",
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet50",
    "deeplabv3_resnet101",
]

Tensor = torch.Tensor


class DeepLabV3(SimpleSegmentationModel):
    """DeepLab v3: classify each pixel by parallel convolutions of several dilations.

    Chen, Papandreou, Schroff and Adam, [Rethinking Atrous Convolution for Semantic Image
    Segmentation](https://arxiv.org/abs/1706.05587), 2017.
    """


class ASPPConv(nn.Sequential):
    """Dilated 3 x 3 convolution with normalization and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(
            nn.Conv2d(in_channels, out_channels, 3, padding=dilation, dilation=dilation, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )


class ASPPPooling(nn.Sequential):
    """Convolve the mean of all pixels, and copy the result to every pixel."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(super().forward(x), size=x.shape[-2:], mode="bilinear", align_corners=False)


class ASPP(nn.Module):
    """Atrous spatial pyramid pooling: parallel convolutions with several dilations, and the mean of all pixels."""

    def __init__(self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Conv2d(in_channels, out_channels, 1, bias=False),
                    nn.BatchNorm2d(out_channels),
                    nn.ReLU(),
                ),
                *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates),
                ASPPPooling(in_channels, out_channels),
            ]
        )
        self.project = nn.Sequential(
            nn.Conv2d(len(self.convs) * out_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            nn.Dropout(0.5),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.project(torch.cat([conv(x) for conv in self.convs], dim=1))


class DeepLabHead(nn.Sequential):
    """Classify each pixel: apply `ASPP`, a 3 x 3 convolution, and a 1 x 1 convolution that returns the class scores."""

    def __init__(self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)) -> None:
        super().__init__(
            ASPP(in_channels, atrous_rates),
            nn.Conv2d(256, 256, 3, padding=1, bias=False),
            nn.BatchNorm2d(256),
            nn.ReLU(),
            nn.Conv2d(256, num_classes, 1),
        )


class DeepLabV3_ResNet50_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco_with_voc_labels("deeplabv3_resnet50_coco-cd0a2569", 42004074)
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3_ResNet101_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco_with_voc_labels("deeplabv3_resnet101_coco-586e9e4e", 60996202)
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco_with_voc_labels("deeplabv3_mobilenet_v3_large-fc3c493d", 11029328)
    DEFAULT = COCO_WITH_VOC_LABELS_V1


@register_model(DeepLabV3_ResNet50_Weights, loads_weights=True)
def deeplabv3_resnet50(**kwargs: Any) -> DeepLabV3:
    """Build DeepLab v3 on ResNet-50; further arguments are `num_classes`, `aux_loss` and `weights_backbone`."""
    return build(DeepLabV3, DeepLabHead, FCNHead, "resnet50", **kwargs)


@register_model(DeepLabV3_ResNet101_Weights, loads_weights=True)
def deeplabv3_resnet101(**kwargs: Any) -> DeepLabV3:
    """Build DeepLab v3 on ResNet-101; further arguments are `num_classes`, `aux_loss` and `weights_backbone`."""
    return build(DeepLabV3, DeepLabHead, FCNHead, "resnet101", **kwargs)


@register_model(DeepLabV3_MobileNet_V3_Large_Weights, loads_weights=True)
def deeplabv3_mobilenet_v3_large(**kwargs: Any) -> DeepLabV3:
    """Build DeepLab v3 on MobileNet v3; further arguments are `num_classes`, `aux_loss` and `weights_backbone`."""
    return build(DeepLabV3, DeepLabHead, FCNHead, "mobilenet_v3_large", **kwargs)
