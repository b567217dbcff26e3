"""FCN (Long et al., 2014): semantic segmentation with a fully convolutional network."""

from __future__ import annotations

from typing import Any

from flambeau import nn

from .._api import WeightsEnum, register_model
from ._base import SimpleSegmentationModel, build, coco_with_voc_labels

__all__ = ["FCN", "FCN_ResNet50_Weights", "FCN_ResNet101_Weights", "fcn_resnet50", "fcn_resnet101"]


class FCN(SimpleSegmentationModel):
    """FCN: a classification network whose last layers are convolutions, so that it classifies each pixel.

    Long, Shelhamer and Darrell, [Fully Convolutional Networks for Semantic Segmentation](https://arxiv.org/abs/1411.4038), 2014.
    """


class FCNHead(nn.Sequential):
    """Classify each pixel: a 3 x 3 convolution reduces the channels to 1/4, then a 1 x 1 convolution returns the class scores."""

    def __init__(self, in_channels: int, channels: int) -> None:
        narrow = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, narrow, 3, padding=1, bias=False),
            nn.BatchNorm2d(narrow),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(narrow, channels, 1),
        )


class FCN_ResNet50_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco_with_voc_labels("fcn_resnet50_coco-1167a1af", 35322218)
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class FCN_ResNet101_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco_with_voc_labels("fcn_resnet101_coco-7ecb50ca", 54314346)
    DEFAULT = COCO_WITH_VOC_LABELS_V1


@register_model(FCN_ResNet50_Weights, loads_weights=True)
def fcn_resnet50(**kwargs: Any) -> FCN:
    """Build FCN on ResNet-50; further arguments are `num_classes`, `aux_loss` and `weights_backbone`."""
    return build(FCN, FCNHead, FCNHead, "resnet50", **kwargs)


@register_model(FCN_ResNet101_Weights, loads_weights=True)
def fcn_resnet101(**kwargs: Any) -> FCN:
    """Build FCN on ResNet-101; further arguments are `num_classes`, `aux_loss` and `weights_backbone`."""
    return build(FCN, FCNHead, FCNHead, "resnet101", **kwargs)
