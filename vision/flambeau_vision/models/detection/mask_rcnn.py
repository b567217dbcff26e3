"""Mask R-CNN: Faster R-CNN that also predicts a mask of each detected object."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from flambeau import nn

from ...ops.misc import Conv2dNormActivation, FrozenBatchNorm2d
from ...ops.poolers import MultiScaleRoIAlign
from .._api import WeightsEnum, register_model
from ..resnet import ResNet50_Weights, resnet50
from ._build import coco, load_weights, resolve_weights
from .backbone_utils import resnet_extractor
from .faster_rcnn import FasterRCNN, FastRCNNConvFCHead
from .rpn import RPNHead

__all__ = [
    "MaskRCNN",
    "MaskRCNN_ResNet50_FPN_V2_Weights",
    "MaskRCNN_ResNet50_FPN_Weights",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
]

Layer = Callable[..., nn.Module]


class MaskRCNNHeads(nn.Sequential):
    """Head with 3 x 3 convolutions on the features of a region."""

    _version = 2

    def __init__(self, in_channels: int, layers: Sequence[int], dilation: int, norm_layer: Layer | None = None) -> None:
        widths = [in_channels, *layers]
        super().__init__(
            *(
                Conv2dNormActivation(before, after, 3, dilation=dilation, norm_layer=norm_layer)
                for before, after in pairwise(widths)
            )
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        self.register_load_state_dict_pre_hook(_rename_old_keys)


def _rename_old_keys(module: nn.Module, state_dict: dict, prefix: str, *args: object) -> None:
    # Published weights have the keys of version 1: "mask_fcn1.weight" for "0.0.weight".
    for key in list(state_dict):
        found = re.fullmatch(re.escape(prefix) + r"mask_fcn(\d+)\.(weight|bias)", key)
        if found:
            state_dict[f"{prefix}{int(found[1]) - 1}.0.{found[2]}"] = state_dict.pop(key)


class MaskRCNNPredictor(nn.Sequential):
    """Predict a mask for each class, twice as high and wide as the features."""

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: int) -> None:
        super().__init__(
            OrderedDict(
                conv5_mask=nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2),
                relu=nn.ReLU(inplace=True),
                mask_fcn_logits=nn.Conv2d(dim_reduced, num_classes, 1),
            )
        )
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


class MaskRCNN(FasterRCNN):
    """[Mask R-CNN](https://arxiv.org/abs/1703.06870): Faster R-CNN that also predicts a mask for each object.

    Targets also contain binary `masks` of shape `(objects, H, W)`. Detections contain `masks` of shape
    `(detections, 1, H, W)` with values from 0 to 1. The losses contain `loss_mask`.

    Args:
        backbone: maps a batch of images to a dict of features; has the attribute `out_channels`.
        num_classes: number of classes, including the background (class 0).
        mask_roi_pool: pools region features for masks; by default `MultiScaleRoIAlign` to 14 x 14.
        mask_head: transforms the pooled features; by default four convolutions.
        mask_predictor: predicts a mask for each class; specify either this or `num_classes`.
        **kwargs: further arguments of `FasterRCNN`.

    Raises:
        TypeError: `mask_roi_pool` is not a `MultiScaleRoIAlign`.
        ValueError: both `num_classes` and `mask_predictor` are given.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        *args: Any,
        mask_roi_pool: MultiScaleRoIAlign | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(mask_roi_pool, MultiScaleRoIAlign | None):
            raise TypeError(f"mask_roi_pool should be of type MultiScaleRoIAlign or None instead of {type(mask_roi_pool)}")
        if num_classes is not None and mask_predictor is not None:
            raise ValueError("num_classes should be None when mask_predictor is specified")
        if not hasattr(backbone, "out_channels"):
            raise ValueError("backbone should contain an attribute out_channels specifying the number of output channels")
        pool = mask_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        head = mask_head or MaskRCNNHeads(backbone.out_channels, (256, 256, 256, 256), 1)
        predictor = mask_predictor or MaskRCNNPredictor(256, 256, num_classes)
        super().__init__(backbone, num_classes, *args, **kwargs)
        self.roi_heads.mask_roi_pool = pool
        self.roi_heads.mask_head = head
        self.roi_heads.mask_predictor = predictor


class MaskRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("maskrcnn_resnet50_fpn_coco-bf2d0c1e", 44401393)
    DEFAULT = COCO_V1


class MaskRCNN_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = coco("maskrcnn_resnet50_fpn_v2_coco-73cbd019", 46359409)
    DEFAULT = COCO_V1


@register_model(MaskRCNN_ResNet50_FPN_Weights, loads_weights=True)
def maskrcnn_resnet50_fpn(*, weights: Any, progress: bool, **kwargs: Any) -> MaskRCNN:
    """Build Mask R-CNN on ResNet-50; further arguments are passed to `MaskRCNN`.

    `weights_backbone` are weights of the ResNet, and `trainable_backbone_layers` is the number of its trained stages, from
    0 to 5.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, ResNet50_Weights.IMAGENET1K_V1, largest=5, usual=3)
    norm = FrozenBatchNorm2d if weights is not None or backbone_weights is not None else nn.BatchNorm2d
    backbone = resnet_extractor(resnet50(weights=backbone_weights, progress=progress, norm_layer=norm), trained)
    return load_weights(MaskRCNN(backbone, **kwargs), weights, progress, zero_norm_eps=True)


@register_model(MaskRCNN_ResNet50_FPN_V2_Weights, loads_weights=True)
def maskrcnn_resnet50_fpn_v2(*, weights: Any, progress: bool, **kwargs: Any) -> MaskRCNN:
    """Build Mask R-CNN on ResNet-50, with more convolutions in its heads.

    It takes the same arguments as `maskrcnn_resnet50_fpn`.

    Li, Xie, Chen, Dollár, He and Girshick, [Benchmarking Detection Transfer Learning with Vision
    Transformers](https://arxiv.org/abs/2111.11429), 2021.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, ResNet50_Weights.IMAGENET1K_V1, largest=5, usual=3)
    backbone = resnet_extractor(resnet50(weights=backbone_weights, progress=progress), trained, norm_layer=nn.BatchNorm2d)
    parts = {
        "rpn_head": RPNHead(256, 3, conv_depth=2),
        "box_head": FastRCNNConvFCHead((256, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d),
        "mask_head": MaskRCNNHeads(256, [256] * 4, 1, norm_layer=nn.BatchNorm2d),
        **kwargs,
    }
    return load_weights(MaskRCNN(backbone, **parts), weights, progress)
