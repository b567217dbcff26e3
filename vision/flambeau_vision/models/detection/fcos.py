"""FCOS: one-stage object detection without anchors."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops import boxes as box_ops
from ...ops.feature_pyramid_network import LastLevelP6P7
from ...ops.losses import generalized_box_iou_loss, sigmoid_focal_loss
from ...ops.misc import FrozenBatchNorm2d
from .._api import WeightsEnum, register_model
from ..resnet import ResNet50_Weights, resnet50
from ._build import coco, load_weights, resolve_weights
from .anchor_utils import AnchorGenerator
from .backbone_utils import resnet_extractor
from .rpn import by_anchor
from .transform import GeneralizedRCNNTransform, check_targets, losses_or_detections

__all__ = ["FCOS", "FCOS_ResNet50_FPN_Weights", "fcos_resnet50_fpn"]

Tensor = torch.Tensor
Target = dict[str, Tensor]
Layer = Callable[..., nn.Module]


def _distances(points: Tensor, boxes: Tensor) -> Tensor:
    """Return the distances from points to the left, top, right and bottom sides of boxes, as `(..., 4)`."""
    return torch.cat([points - boxes[..., :2], boxes[..., 2:] - points], dim=-1)


def _centers_and_sizes(anchors: Tensor) -> tuple[Tensor, Tensor]:
    return (anchors[..., :2] + anchors[..., 2:]) / 2, anchors[..., 2:] - anchors[..., :2]


def decode(distances: Tensor, anchors: Tensor) -> Tensor:
    """Compute boxes from the distances between anchor centres and box sides, given as multiples of the anchor size."""
    centers, sizes = _centers_and_sizes(anchors)
    before, after = distances[..., :2] * sizes, distances[..., 2:] * sizes
    return torch.cat([centers - before, centers + after], dim=-1)


def _convolutions(channels: int, count: int, norm_layer: Layer | None) -> nn.Sequential:
    norm_layer = norm_layer or partial(nn.GroupNorm, 32)
    layers: list[nn.Module] = []
    for _ in range(count):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), norm_layer(channels), nn.ReLU()]
    return nn.Sequential(*layers)


def _small_weights(layers: nn.Module) -> None:
    for module in layers.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.normal_(module.weight, std=0.01)
            nn.init.zeros_(module.bias)


class FCOSClassificationHead(nn.Module):
    """Predict class scores at each point."""

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        num_convs: int = 4,
        prior_probability: float = 0.01,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        _small_weights(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        # The initial bias predicts background with high probability.
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))

    def forward(self, x: list[Tensor]) -> Tensor:
        return torch.cat([by_anchor(self.cls_logits(self.conv(feature)), self.num_classes) for feature in x], dim=1)


class FCOSRegressionHead(nn.Module):
    """Predict the distances to the sides of a box and the centre-ness at each point."""

    def __init__(self, in_channels: int, num_anchors: int, num_convs: int = 4, norm_layer: Layer | None = None) -> None:
        super().__init__()
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors, 3, padding=1)
        for layers in (self.bbox_reg, self.bbox_ctrness, self.conv):
            _small_weights(layers)

    def forward(self, x: list[Tensor]) -> tuple[Tensor, Tensor]:
        features = [self.conv(feature) for feature in x]
        distances = torch.cat([by_anchor(F.relu(self.bbox_reg(feature)), 4) for feature in features], dim=1)
        return distances, torch.cat([by_anchor(self.bbox_ctrness(feature), 1) for feature in features], dim=1)


class FCOSHead(nn.Module):
    """Classification head and regression head."""

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int = 4) -> None:
        super().__init__()
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, num_convs)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, num_convs)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        logits = self.classification_head(x)
        distances, centerness = self.regression_head(x)
        return {"cls_logits": logits, "bbox_regression": distances, "bbox_ctrness": centerness}


class FCOS(nn.Module):
    """[FCOS](https://arxiv.org/abs/1904.01355): each point inside of an object predicts the distances to the sides of its box.

    Inputs and outputs are those of `flambeau_vision.models.detection.FasterRCNN`.

    Args:
        backbone: maps a batch of images to a dict of features; has the attribute `out_channels`.
        num_classes: number of classes, including the background (class 0).
        min_size: the shorter side of images is resized to this length.
        max_size: limit of the longer side.
        image_mean: mean of each channel.
        image_std: standard deviation of each channel.
        anchor_generator: generates one square per position: its centre is the point, its side the unit of distances. The
            default sides are the strides of five levels.
        head: predicts class scores, distances and centre-ness.
        center_sampling_radius: a point is matched with an object only if it is closer to the centre of the object than this, in
            units of the anchor side.
        score_thresh: minimum score of a detection.
        nms_thresh: IoU threshold of non-maximum suppression within a class.
        detections_per_img: maximum number of detections per image.
        topk_candidates: number of detections per level to keep before non-maximum suppression.
        **kwargs: further arguments of `GeneralizedRCNNTransform`.

    Raises:
        TypeError: `anchor_generator` is not an `AnchorGenerator`.
        ValueError: `anchor_generator` makes several anchors per position, or the backbone has no `out_channels`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int,
        min_size: int | Sequence[int] = 800,
        max_size: int = 1333,
        image_mean: Sequence[float] | None = None,
        image_std: Sequence[float] | None = None,
        anchor_generator: AnchorGenerator | None = None,
        head: nn.Module | None = None,
        center_sampling_radius: float = 1.5,
        score_thresh: float = 0.2,
        nms_thresh: float = 0.6,
        detections_per_img: int = 100,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not hasattr(backbone, "out_channels"):
            raise ValueError("backbone should contain an attribute out_channels specifying the number of output channels")
        if not isinstance(anchor_generator, AnchorGenerator | None):
            raise TypeError(f"anchor_generator should be of type AnchorGenerator or None, instead got {type(anchor_generator)}")
        self.backbone = backbone
        self.anchor_generator = anchor_generator or AnchorGenerator(((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5)
        per_place = self.anchor_generator.num_anchors_per_location()[0]
        if per_place != 1:
            raise ValueError(f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {per_place}")
        self.head = head or FCOSHead(backbone.out_channels, per_place, num_classes)
        mean, std = image_mean or [0.485, 0.456, 0.406], image_std or [0.229, 0.224, 0.225]
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.center_sampling_radius = center_sampling_radius
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def _match(self, boxes: Tensor, anchors: Tensor, per_level: list[int]) -> Tensor:
        """Return for each point the index of the smallest object that matches it, or -1 if none does."""
        if len(boxes) == 0:
            return torch.full((len(anchors),), -1, dtype=torch.int64, device=anchors.device)
        points, sizes = _centers_and_sizes(anchors)
        points, size = points[:, None], sizes[:, :1]
        distances = _distances(points, boxes)
        central = (points - (boxes[:, :2] + boxes[:, 2:]) / 2).abs().amax(dim=2) < self.center_sampling_radius * size
        # Each level is trained with objects of its scale. The first level is also trained with smaller objects, the last with
        # larger ones.
        least, most = 4 * size, 8 * size
        least[: per_level[0]] = 0
        most[len(most) - per_level[-1] :] = math.inf
        reach = distances.amax(dim=2)
        fits = central & (distances.amin(dim=2) > 0) & (reach > least) & (reach < most)
        area = torch.where(fits, box_ops.box_area(boxes), torch.full_like(reach, math.inf))
        smallest = area.min(dim=1)
        return torch.where(smallest.values < math.inf, smallest.indices, torch.full_like(smallest.indices, -1))

    def _losses(
        self, targets: list[Target], outputs: dict[str, Tensor], anchors: list[Tensor], per_level: list[int]
    ) -> dict[str, Tensor]:
        logits, losses, count = outputs["cls_logits"], [], 0
        for index, (target, image_anchors) in enumerate(zip(targets, anchors, strict=True)):
            matches = self._match(target["boxes"], image_anchors, per_level)
            positive = torch.where(matches >= 0)[0]
            boxes, image_anchors = target["boxes"][matches[positive]], image_anchors[positive]
            one_hot = torch.zeros_like(logits[index])
            one_hot[positive, target["labels"][matches[positive]]] = 1.0
            predicted = decode(outputs["bbox_regression"][index, positive], image_anchors)
            distances = _distances(_centers_and_sizes(image_anchors)[0], boxes)
            pairs = distances[:, [0, 2]], distances[:, [1, 3]]  # (left, right) and (top, bottom)
            (across, along) = (pair.amin(dim=1) / pair.amax(dim=1) for pair in pairs)
            centerness = outputs["bbox_ctrness"][index, positive, 0]
            losses.append(
                (
                    sigmoid_focal_loss(logits[index], one_hot, reduction="sum"),
                    generalized_box_iou_loss(predicted, boxes, reduction="sum"),
                    F.binary_cross_entropy_with_logits(centerness, (across * along).sqrt(), reduction="sum"),
                )
            )
            count += len(positive)
        names = ("classification", "bbox_regression", "bbox_ctrness")
        return {name: sum(parts) / max(1, count) for name, parts in zip(names, zip(*losses, strict=True), strict=True)}

    def _results(self, outputs: dict[str, Tensor], anchors: Tensor, per_level: list[int], image_shape: tuple[int, int]) -> Target:
        """Return the detections of one image."""
        likely, central = outputs["cls_logits"].sigmoid(), outputs["bbox_ctrness"].sigmoid()
        classes = likely.shape[-1]
        scores, indices, start = [], [], 0
        for level in (likely * central).sqrt().split(per_level):
            candidates = torch.where(level.flatten() > self.score_thresh)[0]
            best = level.flatten()[candidates].topk(min(self.topk_candidates, len(candidates)))
            scores.append(best.values)
            indices.append(candidates[best.indices] + start * classes)
            start += len(level)
        score, index = torch.cat(scores), torch.cat(indices)
        index, labels = index // classes, index % classes
        boxes = decode(outputs["bbox_regression"][index], anchors[index])
        boxes = box_ops.clip_boxes_to_image(boxes, image_shape)
        keep = box_ops.batched_nms(boxes, score, labels, self.nms_thresh)[: self.detections_per_img]
        return {"boxes": boxes[keep], "scores": score[keep], "labels": labels[keep]}

    def forward(self, images: list[Tensor], targets: list[Target] | None = None) -> dict[str, Tensor] | list[Target]:
        if self.training:
            check_targets(targets)
        sizes = [tuple(image.shape[-2:]) for image in images]
        batch, targets = self.transform(images, targets)
        features = self.backbone(batch.tensors)
        if isinstance(features, torch.Tensor):
            features = OrderedDict([("0", features)])
        levels = list(features.values())
        outputs, anchors = self.head(levels), self.anchor_generator(batch, levels)
        per_level = [level.shape[-2] * level.shape[-1] for level in levels]
        if self.training:
            return losses_or_detections(self, self._losses(targets, outputs, anchors, per_level), [])
        results = []
        for index, (image_anchors, shape) in enumerate(zip(anchors, batch.image_sizes, strict=True)):
            of_image = {name: output[index] for name, output in outputs.items()}
            results.append(self._results(of_image, image_anchors, per_level, shape))
        return losses_or_detections(self, {}, self.transform.postprocess(results, batch.image_sizes, sizes))


class FCOS_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("fcos_resnet50_fpn_coco-99b0c9b7", 32269600)
    DEFAULT = COCO_V1


@register_model(FCOS_ResNet50_FPN_Weights, loads_weights=True)
def fcos_resnet50_fpn(*, weights: Any, progress: bool, **kwargs: Any) -> FCOS:
    """Build FCOS on ResNet-50; further arguments are passed to `FCOS`.

    `weights_backbone` are weights of the ResNet, and `trainable_backbone_layers` is the number of its trained stages, from
    0 to 5.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, ResNet50_Weights.IMAGENET1K_V1, largest=5, usual=3)
    norm = FrozenBatchNorm2d if weights is not None or backbone_weights is not None else nn.BatchNorm2d
    network = resnet50(weights=backbone_weights, progress=progress, norm_layer=norm)
    backbone = resnet_extractor(network, trained, (2, 3, 4), LastLevelP6P7(256, 256))
    return load_weights(FCOS(backbone, **kwargs), weights, progress)
