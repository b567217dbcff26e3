"""Base class of the segmentation models, and the function that builds them from a backbone and a classifier."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...transforms._presets import SemanticSegmentation
from .._api import SITE, Weights, WeightsEnum, fix_argument
from .._meta import VOC_CATEGORIES
from .._utils import IntermediateLayerGetter
from ..mobilenetv3 import MobileNet_V3_Large_Weights, MobileNetV3, mobilenet_v3_large
from ..resnet import ResNet50_Weights, ResNet101_Weights, resnet50, resnet101

Tensor = torch.Tensor

_BACKBONE_WEIGHTS = {
    "resnet50": ResNet50_Weights,
    "resnet101": ResNet101_Weights,
    "mobilenet_v3_large": MobileNet_V3_Large_Weights,
}
_DILATED = {"replace_stride_with_dilation": [False, True, True]}
_BUILDERS: dict[str, Callable[..., nn.Module]] = {
    "resnet50": partial(resnet50, **_DILATED),
    "resnet101": partial(resnet101, **_DILATED),
    "mobilenet_v3_large": partial(mobilenet_v3_large, dilated=True),
}


class SimpleSegmentationModel(nn.Module):
    """Classify the pixels of backbone features and interpolate the class scores to the image size.

    The output is a dict with the key `out`, a tensor of shape `(N, num_classes, H, W)`. With an auxiliary classifier, the key
    `aux` contains the scores of that classifier, in the same shape.
    """

    def __init__(self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        features = self.backbone(x)
        outputs = OrderedDict(out=self.classifier(features["out"]))
        if self.aux_classifier is not None:
            outputs["aux"] = self.aux_classifier(features["aux"])
        size = x.shape[-2:]
        for name, output in outputs.items():
            outputs[name] = F.interpolate(output, size=size, mode="bilinear", align_corners=False)
        return outputs


def mobilenet_stages(features: nn.Module) -> list[int]:
    """Return the indices of the first layer, the layers that halve the resolution and the last layer of a MobileNet."""
    halving = [index for index, layer in enumerate(features) if getattr(layer, "_is_cn", False)]
    return [0, *halving, len(features) - 1]


def feature_layers(backbone: nn.Module) -> tuple[nn.Module, tuple[str, int], tuple[str, int]]:
    """Return the feature network of a backbone, and `(name, channels)` of two of its layers.

    The first layer is the input of the main classifier, the second that of the auxiliary classifier.
    """
    if isinstance(backbone, MobileNetV3):
        features = backbone.features
        stages = mobilenet_stages(features)
        main, aux = (stages[-1], stages[-4])
        return features, (str(main), features[main].out_channels), (str(aux), features[aux].out_channels)
    return backbone, ("layer4", 2048), ("layer3", 1024)


def build(
    model_class: Callable[..., nn.Module],
    head: Callable[[int, int], nn.Module],
    aux_head: Callable[[int, int], nn.Module],
    backbone_name: str,
    *,
    weights: WeightsEnum | None,
    progress: bool,
    num_classes: int | None = None,
    aux_loss: bool | None = None,
    weights_backbone: Any = "default",
    pretrained_backbone: bool | None = None,
) -> nn.Module:
    """Build a model and load `weights`; if `weights` is None, load `weights_backbone` into the backbone.

    `head` and `aux_head` are called with the feature channels and the number of classes, and return a classifier.
    """
    weights_class = _BACKBONE_WEIGHTS[backbone_name]
    if weights_backbone == "default":
        weights_backbone = None if pretrained_backbone is False else weights_class.IMAGENET1K_V1
    backbone_weights = weights_class.verify(weights_backbone)
    sizes = {} if num_classes is None else {"num_classes": num_classes}
    if weights is not None:
        backbone_weights = None
        fix_argument(sizes, "num_classes", len(weights.meta["categories"]))
        aux_loss = True if aux_loss is None else aux_loss
    classes = sizes.get("num_classes", 21)
    backbone = _BUILDERS[backbone_name](weights=backbone_weights, progress=progress)
    network, (main, main_channels), (aux, aux_channels) = feature_layers(backbone)
    features = IntermediateLayerGetter(network, {main: "out", **({aux: "aux"} if aux_loss else {})})
    aux_classifier = aux_head(aux_channels, classes) if aux_loss else None
    model = model_class(features, head(main_channels, classes), aux_classifier)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


def coco_with_voc_labels(file: str, num_params: int) -> Weights:
    """Return weights for the 21 classes of Pascal VOC, trained on COCO and published as `file.pth`."""
    meta = {"categories": VOC_CATEGORIES, "num_params": num_params}
    return Weights(f"{SITE}{file}.pth", partial(SemanticSegmentation, resize_size=520), meta)
