"""LRASPP (Howard et al., 2019): semantic segmentation for phones, from fine features and globally weighted coarse features."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from .._api import WeightsEnum, fix_argument, register_model
from .._utils import IntermediateLayerGetter
from ..mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from ._base import coco_with_voc_labels, mobilenet_stages

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]

Tensor = torch.Tensor


class LRASPPHead(nn.Module):
    """Return the sum of two class scores: from fine features, and from coarse features whose channels are weighted.

    The weights of the channels are computed from the mean of the coarse features over all pixels.
    """

    def __init__(self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid())
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Tensor]) -> Tensor:
        low, high = input["low"], input["high"]
        weighted = self.cbr(high) * self.scale(high)
        weighted = F.interpolate(weighted, size=low.shape[-2:], mode="bilinear", align_corners=False)
        return self.low_classifier(low) + self.high_classifier(weighted)


class LRASPP(nn.Module):
    """LRASPP (lite reduced atrous spatial pyramid pooling): semantic segmentation for phones.

    Howard et al., [Searching for MobileNetV3](https://arxiv.org/abs/1905.02244), 2019.

    Args:
        backbone: returns a dict with the features `low` (fine) and `high` (coarse).
        low_channels: channels of the fine features.
        high_channels: channels of the coarse features.
        num_classes: number of classes.
        inter_channels: channels of the coarse features after their first convolution.
    """

    def __init__(
        self,
        backbone: nn.Module,
        low_channels: int,
        high_channels: int,
        num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> dict[str, Tensor]:
        out = self.classifier(self.backbone(input))
        out = F.interpolate(out, size=input.shape[-2:], mode="bilinear", align_corners=False)
        return OrderedDict(out=out)


class LRASPP_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco_with_voc_labels("lraspp_mobilenet_v3_large-d234d4ea", 3221538)
    DEFAULT = COCO_WITH_VOC_LABELS_V1


@register_model(LRASPP_MobileNet_V3_Large_Weights, loads_weights=True)
def lraspp_mobilenet_v3_large(
    *,
    weights: LRASPP_MobileNet_V3_Large_Weights | None,
    progress: bool,
    weights_backbone: Any = MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    **kwargs: Any,
) -> LRASPP:
    """Build LRASPP on MobileNet v3; further arguments are `num_classes` and `weights_backbone`."""
    weights_backbone = MobileNet_V3_Large_Weights.verify(weights_backbone)
    if weights is not None:
        weights_backbone = None
        fix_argument(kwargs, "num_classes", len(weights.meta["categories"]))
    features = mobilenet_v3_large(weights=weights_backbone, progress=progress, dilated=True).features
    stages = mobilenet_stages(features)
    low, high = stages[-4], stages[-1]
    backbone = IntermediateLayerGetter(features, {str(low): "low", str(high): "high"})
    channels = features[low].out_channels, features[high].out_channels
    model = LRASPP(backbone, *channels, kwargs.pop("num_classes", 21), **kwargs)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model
