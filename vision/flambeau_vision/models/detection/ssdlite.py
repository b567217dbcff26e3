"""SSDlite (Sandler et al., 2018): SSD whose prediction layers are depthwise separable convolutions, on a MobileNet."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flambeau as torch
from flambeau import nn

from ...ops.misc import Conv2dNormActivation
from .._api import WeightsEnum, register_model
from ..mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from ._build import coco, load_weights, resolve_weights
from .anchor_utils import DefaultBoxGenerator
from .ssd import SSD, SSDScoringHead

__all__ = ["SSDLite320_MobileNet_V3_Large_Weights", "ssdlite320_mobilenet_v3_large"]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


def _normal(layers: nn.Module) -> None:
    for module in layers.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.normal_(module.weight, mean=0.0, std=0.03)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def _predictors(in_channels: Sequence[int], num_anchors: Sequence[int], values: int, norm_layer: Layer) -> nn.ModuleList:
    """Return depthwise separable convolutions, one per feature map. They predict `values` numbers for each default box."""
    layers = nn.ModuleList()
    for channels, anchors in zip(in_channels, num_anchors, strict=True):
        options = {"groups": channels, "norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        depthwise = Conv2dNormActivation(channels, channels, **options)
        layers.append(nn.Sequential(depthwise, nn.Conv2d(channels, values * anchors, 1)))
    _normal(layers)
    return layers


class SSDLiteClassificationHead(SSDScoringHead):
    """Predict the class scores of each default box with depthwise separable convolutions.

    Args:
        in_channels: channels of each feature map.
        num_anchors: number of default boxes per position of each feature map.
        num_classes: number of classes, including the background (class 0).
        norm_layer: called with the number of channels to create a normalization.
    """

    def __init__(self, in_channels: Sequence[int], num_anchors: Sequence[int], num_classes: int, norm_layer: Layer) -> None:
        super().__init__(_predictors(in_channels, num_anchors, num_classes, norm_layer), num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """Predict the box deltas of each default box. Arguments are those of `SSDLiteClassificationHead`, without `num_classes`."""

    def __init__(self, in_channels: Sequence[int], num_anchors: Sequence[int], norm_layer: Layer) -> None:
        super().__init__(_predictors(in_channels, num_anchors, 4, norm_layer), 4)


class SSDLiteHead(nn.Module):
    """Predict the class scores and box deltas of each default box with depthwise separable convolutions."""

    def __init__(self, in_channels: Sequence[int], num_anchors: Sequence[int], num_classes: int, norm_layer: Layer) -> None:
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(in_channels, num_anchors, num_classes, norm_layer)
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """Compute features of six scales: two from a MobileNet, the others by additional convolutions.

    The MobileNet features are taken after the first convolution of block `c4_pos`, and after the last layer.
    """

    def __init__(self, backbone: nn.Sequential, c4_pos: int, norm_layer: Layer) -> None:
        super().__init__()
        if backbone[c4_pos].use_res_connect:
            raise ValueError("backbone[c4_pos].use_res_connect should be False")
        block = backbone[c4_pos].block
        self.features = nn.Sequential(
            nn.Sequential(*backbone[:c4_pos], block[0]), nn.Sequential(block[1:], *backbone[c4_pos + 1 :])
        )
        options = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        channels = [backbone[-1].out_channels, 512, 256, 256, 128]
        self.out_channels = [block[0].out_channels, *channels]
        self.extra = nn.ModuleList()
        for before, after in itertools.pairwise(channels):
            narrow = after // 2
            self.extra.append(
                nn.Sequential(
                    Conv2dNormActivation(before, narrow, kernel_size=1, **options),
                    Conv2dNormActivation(narrow, narrow, stride=2, groups=narrow, **options),
                    Conv2dNormActivation(narrow, after, kernel_size=1, **options),
                )
            )
        _normal(self.extra)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        outputs = []
        for block in (*self.features, *self.extra):
            x = block(x)
            outputs.append(x)
        return OrderedDict((str(index), output) for index, output in enumerate(outputs))


def _mobilenet_extractor(network: nn.Module, trainable_layers: int, norm_layer: Layer) -> SSDLiteFeatureExtractorMobileNet:
    """Convert a MobileNet to a feature extractor, and freeze all but its last `trainable_layers` stages."""
    layers = network.features
    strided = [index for index, layer in enumerate(layers) if getattr(layer, "_is_cn", False)]
    starts = [0, *strided, len(layers) - 1]
    if not 0 <= trainable_layers <= len(starts):
        raise ValueError(f"trainable_layers should be in the range [0, {len(starts)}], instead got {trainable_layers}")
    first = len(layers) if trainable_layers == 0 else starts[len(starts) - trainable_layers]
    for layer in layers[:first]:
        for parameter in layer.parameters():
            parameter.requires_grad_(False)
    return SSDLiteFeatureExtractorMobileNet(layers, starts[-2], norm_layer)


class SSDLite320_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_V1 = coco("ssdlite320_mobilenet_v3_large_coco-a79551df", 3440060)
    DEFAULT = COCO_V1


@register_model(SSDLite320_MobileNet_V3_Large_Weights, loads_weights=True)
def ssdlite320_mobilenet_v3_large(*, weights: Any, progress: bool, norm_layer: Layer | None = None, **kwargs: Any) -> SSD:
    """Build SSDlite on MobileNet v3, for images resized to 320 x 320; further arguments are passed to `SSD`.

    `weights_backbone` are the weights of the MobileNet. `trainable_backbone_layers` is the number of stages of the MobileNet
    to train, from 0 to 6. `norm_layer` is called with the number of channels to create a normalization. Without
    `weights_backbone`, the last stage of the MobileNet has half of the channels.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, MobileNet_V3_Large_Weights.IMAGENET1K_V1, largest=6, usual=6)
    norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
    network = mobilenet_v3_large(
        weights=backbone_weights, progress=progress, norm_layer=norm_layer, reduced_tail=backbone_weights is None
    )
    if backbone_weights is None:
        _normal(network)
    backbone = _mobilenet_extractor(network, trained, norm_layer)
    boxes = DefaultBoxGenerator([[2, 3]] * 6, min_ratio=0.2, max_ratio=0.95)
    head = SSDLiteHead(backbone.out_channels, boxes.num_anchors_per_location(), kwargs["num_classes"], norm_layer)
    defaults = {
        "score_thresh": 0.001,
        "nms_thresh": 0.55,
        "detections_per_img": 300,
        "topk_candidates": 300,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }
    return load_weights(SSD(backbone, boxes, (320, 320), **{**defaults, "head": head, **kwargs}), weights, progress)
