"""Keypoint R-CNN: Faster R-CNN that also predicts the keypoints of each detected person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops.misc import FrozenBatchNorm2d
from ...ops.poolers import MultiScaleRoIAlign
from ...transforms._presets import ObjectDetection
from .._api import SITE, Weights, WeightsEnum, fix_argument, register_model
from ..resnet import ResNet50_Weights, resnet50
from ._build import load_weights, resolve_weights
from .backbone_utils import resnet_extractor
from .faster_rcnn import FasterRCNN

__all__ = ["KeypointRCNN", "KeypointRCNN_ResNet50_FPN_Weights", "keypointrcnn_resnet50_fpn"]

_KEYPOINTS = """
    nose left_eye right_eye left_ear right_ear left_shoulder right_shoulder left_elbow right_elbow left_wrist right_wrist
    left_hip right_hip left_knee right_knee left_ankle right_ankle
""".split()  # noqa: SIM905


class KeypointRCNNHeads(nn.Sequential):
    """Head with 3 x 3 convolutions on the features of a region."""

    def __init__(self, in_channels: int, layers: Sequence[int]) -> None:
        modules: list[nn.Module] = []
        for width in layers:
            modules += [nn.Conv2d(in_channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            in_channels = width
        super().__init__(*modules)
        for convolution in modules[::2]:
            nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(convolution.bias)


class KeypointRCNNPredictor(nn.Module):
    """Predict a heatmap for each keypoint, four times as high and wide as the features."""

    def __init__(self, in_channels: int, num_keypoints: int) -> None:
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(in_channels, num_keypoints, 4, stride=2, padding=1)
        nn.init.kaiming_normal_(self.kps_score_lowres.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(self.kps_score_lowres.bias)
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heatmaps = self.kps_score_lowres(x)
        return F.interpolate(heatmaps, scale_factor=float(self.up_scale), mode="bilinear", align_corners=False)


class KeypointRCNN(FasterRCNN):
    """Keypoint R-CNN: Faster R-CNN that also predicts the keypoints of each object.

    Targets also contain `keypoints` of shape `(objects, K, 3)`: x, y and visibility. Detections contain `keypoints` of
    shape `(detections, K, 3)` and `keypoints_scores` of shape `(detections, K)`. The losses contain `loss_keypoint`.

    He, Gkioxari, Dollár and Girshick, [Mask R-CNN](https://arxiv.org/abs/1703.06870), 2017.

    Args:
        backbone: maps a batch of images to a dict of features; has the attribute `out_channels`.
        num_classes: number of classes, including the background (class 0).
        min_size: the shorter side of images is resized to this length, or in training to one of several lengths.
        keypoint_roi_pool: pools region features for keypoints; by default `MultiScaleRoIAlign` to 14 x 14.
        keypoint_head: transforms the pooled features; by default eight convolutions.
        keypoint_predictor: predicts a heatmap for each keypoint; specify either this or `num_keypoints`.
        num_keypoints: number of keypoints per object; None for the 17 keypoints of COCO persons.
        **kwargs: further arguments of `FasterRCNN`.

    Raises:
        TypeError: `keypoint_roi_pool` is not a `MultiScaleRoIAlign`.
        ValueError: both `num_keypoints` and `keypoint_predictor` are given.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: int | Sequence[int] | None = None,
        *args: Any,
        keypoint_roi_pool: MultiScaleRoIAlign | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
        num_keypoints: int | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(keypoint_roi_pool, MultiScaleRoIAlign | None):
            raise TypeError(
                f"keypoint_roi_pool should be of type MultiScaleRoIAlign or None instead of {type(keypoint_roi_pool)}"
            )
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("num_keypoints should be None when keypoint_predictor is specified")
        if not hasattr(backbone, "out_channels"):
            raise ValueError("backbone should contain an attribute out_channels specifying the number of output channels")
        pool = keypoint_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        head = keypoint_head or KeypointRCNNHeads(backbone.out_channels, (512,) * 8)
        predictor = keypoint_predictor or KeypointRCNNPredictor(512, num_keypoints or 17)
        sizes = (640, 672, 704, 736, 768, 800) if min_size is None else min_size
        super().__init__(backbone, num_classes, sizes, *args, **kwargs)
        self.roi_heads.keypoint_roi_pool = pool
        self.roi_heads.keypoint_head = head
        self.roi_heads.keypoint_predictor = predictor


def _persons(file: str) -> Weights:
    """Return the weights of a detector of persons, trained on COCO and published as `{file}.pth`."""
    meta = {"categories": ["no person", "person"], "keypoint_names": _KEYPOINTS, "num_params": 59137258}
    return Weights(f"{SITE}{file}.pth", ObjectDetection, meta)


class KeypointRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_LEGACY = _persons("keypointrcnn_resnet50_fpn_coco-9f466800")
    COCO_V1 = _persons("keypointrcnn_resnet50_fpn_coco-fc266e95")
    DEFAULT = COCO_V1


@register_model(KeypointRCNN_ResNet50_FPN_Weights, loads_weights=True)
def keypointrcnn_resnet50_fpn(*, weights: Any, progress: bool, **kwargs: Any) -> KeypointRCNN:
    """Build Keypoint R-CNN on ResNet-50; further arguments are passed to `KeypointRCNN`.

    `weights_backbone` are weights of the ResNet, and `trainable_backbone_layers` is the number of its trained stages, from
    0 to 5.
    """
    if weights is not None:
        fix_argument(kwargs, "num_keypoints", len(weights.meta["keypoint_names"]))
    kwargs.setdefault("num_classes", 2)
    backbone_weights, trained = resolve_weights(kwargs, weights, ResNet50_Weights.IMAGENET1K_V1, largest=5, usual=3)
    norm = FrozenBatchNorm2d if weights is not None or backbone_weights is not None else nn.BatchNorm2d
    backbone = resnet_extractor(resnet50(weights=backbone_weights, progress=progress, norm_layer=norm), trained)
    exact = weights is KeypointRCNN_ResNet50_FPN_Weights.COCO_V1
    return load_weights(KeypointRCNN(backbone, **kwargs), weights, progress, zero_norm_eps=exact)
