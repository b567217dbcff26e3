"""Operations on boxes and regions of images, losses of detectors, and modules used by many vision models."""

from __future__ import annotations

from .boxes import (
    batched_nms,
    box_area,
    box_convert,
    box_iou,
    clip_boxes_to_image,
    complete_box_iou,
    distance_box_iou,
    generalized_box_iou,
    masks_to_boxes,
    nms,
    remove_small_boxes,
)
from .deform_conv import DeformConv2d, deform_conv2d
from .dropping import (
    DropBlock2d,
    DropBlock3d,
    StochasticDepth,
    drop_block2d,
    drop_block3d,
    stochastic_depth,
)
from .feature_pyramid_network import FeaturePyramidNetwork
from .losses import (
    complete_box_iou_loss,
    distance_box_iou_loss,
    generalized_box_iou_loss,
    sigmoid_focal_loss,
)
from .misc import (
    MLP,
    Conv2dNormActivation,
    Conv3dNormActivation,
    FrozenBatchNorm2d,
    Permute,
    SqueezeExcitation,
)
from .poolers import MultiScaleRoIAlign
from .roi import PSRoIAlign, PSRoIPool, RoIAlign, RoIPool, ps_roi_align, ps_roi_pool, roi_align, roi_pool

__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "DeformConv2d",
    "DropBlock2d",
    "DropBlock3d",
    "FeaturePyramidNetwork",
    "FrozenBatchNorm2d",
    "MultiScaleRoIAlign",
    "PSRoIAlign",
    "PSRoIPool",
    "Permute",
    "RoIAlign",
    "RoIPool",
    "SqueezeExcitation",
    "StochasticDepth",
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "complete_box_iou_loss",
    "deform_conv2d",
    "distance_box_iou",
    "distance_box_iou_loss",
    "drop_block2d",
    "drop_block3d",
    "generalized_box_iou",
    "generalized_box_iou_loss",
    "masks_to_boxes",
    "nms",
    "ps_roi_align",
    "ps_roi_pool",
    "remove_small_boxes",
    "roi_align",
    "roi_pool",
    "sigmoid_focal_loss",
    "stochastic_depth",
]
