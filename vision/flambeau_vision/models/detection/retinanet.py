"""RetinaNet: one-stage object detection with focal loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops import boxes as box_ops
from ...ops.feature_pyramid_network import LastLevelP6P7
from ...ops.losses import generalized_box_iou_loss, sigmoid_focal_loss
from ...ops.misc import Conv2dNormActivation, FrozenBatchNorm2d
from .._api import WeightsEnum, register_model
from ..resnet import ResNet50_Weights, resnet50
from ._build import coco, load_weights, resolve_weights
from ._utils import BETWEEN, BoxCoder, Matcher
from .anchor_utils import AnchorGenerator
from .backbone_utils import resnet_extractor
from .rpn import by_anchor
from .transform import GeneralizedRCNNTransform, check_targets, losses_or_detections

__all__ = [
    "RetinaNet",
    "RetinaNetHead",
    "RetinaNet_ResNet50_FPN_V2_Weights",
    "RetinaNet_ResNet50_FPN_Weights",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
]

Tensor = torch.Tensor
Target = dict[str, Tensor]
Layer = Callable[..., nn.Module]


def _four_convolutions(channels: int, norm_layer: Layer | None) -> nn.Sequential:
    return nn.Sequential(*(Conv2dNormActivation(channels, channels, norm_layer=norm_layer) for _ in range(4)))


def _small_weights(layers: nn.Module) -> None:
    for module in layers.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.normal_(module.weight, std=0.01)
            if module.bias is not None:
                nn.init.constant_(module.bias, 0)


def _rename_old_keys(module: nn.Module, state_dict: dict, prefix: str, *args: object) -> None:
    # The keys of early weights count ReLUs as well: "conv.2.weight" for "conv.1.0.weight".
    for index in range(4):
        for kind in ("weight", "bias"):
            old, new = f"{prefix}conv.{2 * index}.{kind}", f"{prefix}conv.{index}.0.{kind}"
            if old in state_dict:
                state_dict[new] = state_dict.pop(old)


class RetinaNetClassificationHead(nn.Module):
    """Predict class scores for each anchor."""

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        prior_probability: float = 0.01,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.conv = _four_convolutions(in_channels, norm_layer)
        _small_weights(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, kernel_size=3, stride=1, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        # The initial bias predicts background with high probability.
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))
        self.num_classes = num_classes
        self.register_load_state_dict_pre_hook(_rename_old_keys)

    def forward(self, x: list[Tensor]) -> Tensor:
        return torch.cat([by_anchor(self.cls_logits(self.conv(feature)), self.num_classes) for feature in x], dim=1)


class RetinaNetRegressionHead(nn.Module):
    """Predict four box deltas for each anchor."""

    def __init__(self, in_channels: int, num_anchors: int, norm_layer: Layer | None = None) -> None:
        super().__init__()
        self.conv = _four_convolutions(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=3, stride=1, padding=1)
        _small_weights(self.bbox_reg)
        _small_weights(self.conv)
        self.register_load_state_dict_pre_hook(_rename_old_keys)

    def forward(self, x: list[Tensor]) -> Tensor:
        return torch.cat([by_anchor(self.bbox_reg(self.conv(feature)), 4) for feature in x], dim=1)


class RetinaNetHead(nn.Module):
    """Classification head and regression head."""

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, norm_layer: Layer | None = None) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(in_channels, num_anchors, num_classes, norm_layer=norm_layer)
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {"cls_logits": self.classification_head(x), "bbox_regression": self.regression_head(x)}


class RetinaNet(nn.Module):
    """RetinaNet, [Focal Loss for Dense Object Detection](https://arxiv.org/abs/1708.02002): classify all anchors directly.

    Inputs and outputs are those of `flambeau_vision.models.detection.FasterRCNN`.

    Args:
        backbone: maps a batch of images to a dict of features; has the attribute `out_channels`.
        num_classes: number of classes, including the background (class 0).
        min_size: the shorter side of images is resized to this length.
        max_size: limit of the longer side.
        image_mean: mean of each channel.
        image_std: standard deviation of each channel.
        anchor_generator: generates the anchors; by default three sizes and three aspect ratios for each of five levels.
        head: predicts class scores and box deltas.
        proposal_matcher: matches anchors with objects, instead of the two thresholds below.
        score_thresh: minimum score of a detection.
        nms_thresh: IoU threshold of non-maximum suppression within a class.
        detections_per_img: maximum number of detections per image.
        fg_iou_thresh: minimum IoU of an anchor matched with an object.
        bg_iou_thresh: anchors with a lower IoU are background.
        topk_candidates: number of detections per level to keep before non-maximum suppression.
        box_loss: `"l1"` on box deltas, or `"giou"` on boxes.
        **kwargs: further arguments of `GeneralizedRCNNTransform`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int,
        min_size: int | Sequence[int] = 800,
        max_size: int = 1333,
        image_mean: Sequence[float] | None = None,
        image_std: Sequence[float] | None = None,
        anchor_generator: nn.Module | None = None,
        head: nn.Module | None = None,
        proposal_matcher: Matcher | None = None,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 300,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.4,
        topk_candidates: int = 1000,
        box_loss: str = "l1",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        sizes = tuple((size, int(size * 2 ** (1 / 3)), int(size * 2 ** (2 / 3))) for size in (32, 64, 128, 256, 512))
        self.backbone = backbone
        self.anchor_generator = anchor_generator or AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * 5)
        per_place = self.anchor_generator.num_anchors_per_location()[0]
        self.head = head or RetinaNetHead(backbone.out_channels, per_place, num_classes)
        self.matcher = proposal_matcher or Matcher(fg_iou_thresh, bg_iou_thresh, every_object=True)
        self.box_coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        mean, std = image_mean or [0.485, 0.456, 0.406], image_std or [0.229, 0.224, 0.225]
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self.box_loss = box_loss

    def _losses_of_image(self, target: Target, logits: Tensor, deltas: Tensor, anchors: Tensor) -> tuple[Tensor, Tensor]:
        matches = self.matcher(box_ops.box_iou(target["boxes"], anchors))
        positive = torch.where(matches >= 0)[0]
        objects = matches[positive]
        one_hot = torch.zeros_like(logits)
        one_hot[positive, target["labels"][objects]] = 1.0
        used = matches != BETWEEN
        class_loss = sigmoid_focal_loss(logits[used], one_hot[used], reduction="sum")
        boxes, deltas, anchors = target["boxes"][objects], deltas[positive], anchors[positive]
        if self.box_loss == "giou":
            box_loss = generalized_box_iou_loss(self.box_coder.decode(deltas, anchors), boxes, reduction="sum", eps=1e-7)
        else:
            box_loss = F.l1_loss(deltas, self.box_coder.encode(boxes, anchors), reduction="sum")
        count = max(1, len(positive))
        return class_loss / count, box_loss / count

    def _losses(self, targets: list[Target], outputs: dict[str, Tensor], anchors: list[Tensor]) -> dict[str, Tensor]:
        parts = zip(targets, outputs["cls_logits"], outputs["bbox_regression"], anchors, strict=True)
        class_losses, box_losses = zip(*(self._losses_of_image(*part) for part in parts), strict=True)
        count = len(targets)
        return {"classification": sum(class_losses) / count, "bbox_regression": sum(box_losses) / count}

    def _results(
        self,
        logits: Tensor,
        deltas: Tensor,
        anchors: Tensor,
        per_level: list[int],
        image_shape: tuple[int, int],
    ) -> Target:
        classes = logits.shape[-1]
        scores, indices, start = [], [], 0
        for count in per_level:
            level = torch.sigmoid(logits[start : start + count]).flatten()
            candidates = torch.where(level > self.score_thresh)[0]
            best = level[candidates].topk(min(self.topk_candidates, len(candidates)))
            scores.append(best.values)
            indices.append(candidates[best.indices] + start * classes)
            start += count
        score, index = torch.cat(scores), torch.cat(indices)
        index, labels = index // classes, index % classes
        boxes = box_ops.clip_boxes_to_image(self.box_coder.decode(deltas[index], anchors[index]), image_shape)
        keep = box_ops.batched_nms(boxes, score, labels, self.nms_thresh)[: self.detections_per_img]
        return {"boxes": boxes[keep], "scores": score[keep], "labels": labels[keep]}

    def forward(self, images: list[Tensor], targets: list[Target] | None = None) -> dict[str, Tensor] | list[Target]:
        if self.training:
            check_targets(targets)
        sizes = [tuple(image.shape[-2:]) for image in images]
        batch, targets = self.transform(images, targets)
        features = list(self.backbone(batch.tensors).values())
        outputs, anchors = self.head(features), self.anchor_generator(batch, features)
        if self.training:
            return losses_or_detections(self, self._losses(targets, outputs, anchors), [])
        per_place = self.anchor_generator.num_anchors_per_location()
        per_level = [feature.shape[-2] * feature.shape[-1] * count for feature, count in zip(features, per_place, strict=True)]
        parts = zip(outputs["cls_logits"], outputs["bbox_regression"], anchors, batch.image_sizes, strict=True)
        results = [
            self._results(logits, deltas, image_anchors, per_level, shape) for logits, deltas, image_anchors, shape in parts
        ]
        return losses_or_detections(self, {}, self.transform.postprocess(results, batch.image_sizes, sizes))


class RetinaNet_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("retinanet_resnet50_fpn_coco-eeacb38b", 34014999)
    DEFAULT = COCO_V1


class RetinaNet_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = coco("retinanet_resnet50_fpn_v2_coco-5905b1c5", 38198935)
    DEFAULT = COCO_V1


@register_model(RetinaNet_ResNet50_FPN_Weights, loads_weights=True)
def retinanet_resnet50_fpn(*, weights: Any, progress: bool, **kwargs: Any) -> RetinaNet:
    """Build RetinaNet on ResNet-50; further arguments are passed to `RetinaNet`.

    `weights_backbone` are weights of the ResNet, and `trainable_backbone_layers` is the number of its trained stages, from
    0 to 5.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, ResNet50_Weights.IMAGENET1K_V1, largest=5, usual=3)
    norm = FrozenBatchNorm2d if weights is not None or backbone_weights is not None else nn.BatchNorm2d
    network = resnet50(weights=backbone_weights, progress=progress, norm_layer=norm)
    backbone = resnet_extractor(network, trained, (2, 3, 4), LastLevelP6P7(256, 256))
    return load_weights(RetinaNet(backbone, **kwargs), weights, progress, zero_norm_eps=True)


@register_model(RetinaNet_ResNet50_FPN_V2_Weights, loads_weights=True)
def retinanet_resnet50_fpn_v2(*, weights: Any, progress: bool, **kwargs: Any) -> RetinaNet:
    """Build RetinaNet on ResNet-50 with group normalization in its heads.

    It takes the same arguments as `retinanet_resnet50_fpn`.

    Zhang, Chi, Yao, Lei and Li, [Bridging the Gap Between Anchor-based and Anchor-free
    Detection](https://arxiv.org/abs/1912.02424), 2019.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, ResNet50_Weights.IMAGENET1K_V1, largest=5, usual=3)
    network = resnet50(weights=backbone_weights, progress=progress)
    backbone = resnet_extractor(network, trained, (2, 3, 4), LastLevelP6P7(2048, 256))
    head = RetinaNetHead(256, 9, kwargs["num_classes"], norm_layer=partial(nn.GroupNorm, 32))
    return load_weights(RetinaNet(backbone, **{"head": head, "box_loss": "giou", **kwargs}), weights, progress)
