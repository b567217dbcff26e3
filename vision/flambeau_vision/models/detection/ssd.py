"""SSD, the single shot multibox detector (Liu et al., 2015): predict boxes from feature maps of several scales in one pass."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops import boxes as box_ops
from .._api import WeightsEnum, register_model
from ..vgg import VGG16_Weights, vgg16
from ._build import coco, load_weights, resolve_weights
from ._utils import BoxCoder, SSDMatcher, retrieve_out_channels
from .anchor_utils import DefaultBoxGenerator
from .rpn import by_anchor
from .transform import GeneralizedRCNNTransform, check_targets, losses_or_detections

__all__ = ["SSD", "SSD300_VGG16_Weights", "SSDHead", "ssd300_vgg16"]

Tensor = torch.Tensor
Target = dict[str, Tensor]


def _xavier(layers: nn.Module) -> None:
    for module in layers.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.xavier_uniform_(module.weight)
            nn.init.constant_(module.bias, 0.0)


def _predictors(in_channels: Sequence[int], num_anchors: Sequence[int], values: int) -> nn.ModuleList:
    """Return convolutions, one for each feature map. They predict `values` numbers for each default box."""
    sizes = zip(in_channels, num_anchors, strict=True)
    layers = nn.ModuleList(nn.Conv2d(channels, values * anchors, kernel_size=3, padding=1) for channels, anchors in sizes)
    _xavier(layers)
    return layers


class SSDScoringHead(nn.Module):
    """Predict `num_columns` numbers for each default box at each position of each feature map.

    Args:
        module_list: one prediction layer per feature map.
        num_columns: number of values per box.
    """

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x: list[Tensor]) -> Tensor:
        outputs = [conv(feature) for conv, feature in zip(self.module_list, x, strict=True)]
        return torch.cat([by_anchor(output, self.num_columns) for output in outputs], dim=1)


class SSDClassificationHead(SSDScoringHead):
    """Predict the class scores of each default box.

    Args:
        in_channels: channels of each feature map.
        num_anchors: number of default boxes per position of each feature map.
        num_classes: number of classes, including the background (class 0).

    Example:
        >>> from flambeau_vision.models.detection import ssd300_vgg16
        >>> from flambeau_vision.models.detection.ssd import SSDClassificationHead
        >>> model = ssd300_vgg16(weights_backbone=None)  # of 91 classes
        >>> places = model.anchor_generator.num_anchors_per_location()
        >>> model.head.classification_head = SSDClassificationHead(model.backbone.out_channels, places, num_classes=3)
    """

    def __init__(self, in_channels: Sequence[int], num_anchors: Sequence[int], num_classes: int) -> None:
        super().__init__(_predictors(in_channels, num_anchors, num_classes), num_classes)


class SSDRegressionHead(SSDScoringHead):
    """Predict the box deltas of each default box. It takes the arguments of `SSDClassificationHead` except `num_classes`."""

    def __init__(self, in_channels: Sequence[int], num_anchors: Sequence[int]) -> None:
        super().__init__(_predictors(in_channels, num_anchors, 4), 4)


class SSDHead(nn.Module):
    """Predict the class scores and box deltas of each default box."""

    def __init__(self, in_channels: Sequence[int], num_anchors: Sequence[int], num_classes: int) -> None:
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSD(nn.Module):
    """SSD: an object detector that classifies and shifts default boxes on feature maps of several scales.

    Liu et al., [SSD: Single Shot MultiBox Detector](https://arxiv.org/abs/1512.02325), 2015.

    Inputs and outputs are those of `flambeau_vision.models.detection.FasterRCNN`.

    Args:
        backbone: maps a batch of images to a dict of features.
        anchor_generator: generates the default boxes.
        size: images are resized to this `(width, height)`.
        num_classes: number of classes, including the background (class 0).
        image_mean: mean of each channel.
        image_std: standard deviation of each channel.
        head: predicts class scores and box deltas.
        score_thresh: minimum score of a detection.
        nms_thresh: IoU threshold of non-maximum suppression, which is applied to each class separately.
        detections_per_img: maximum number of detections per image.
        iou_thresh: minimum IoU at which a default box is matched with an object.
        topk_candidates: number of detections per class to keep before non-maximum suppression.
        positive_fraction: fraction of the boxes in the classification loss that are matched with objects.
        **kwargs: further arguments of `GeneralizedRCNNTransform`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        anchor_generator: DefaultBoxGenerator,
        size: tuple[int, int],
        num_classes: int,
        image_mean: Sequence[float] | None = None,
        image_std: Sequence[float] | None = None,
        head: nn.Module | None = None,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        detections_per_img: int = 200,
        iou_thresh: float = 0.5,
        topk_candidates: int = 400,
        positive_fraction: float = 0.25,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.box_coder = BoxCoder((10.0, 10.0, 5.0, 5.0))
        self.head = head or SSDHead(
            retrieve_out_channels(backbone, size), anchor_generator.num_anchors_per_location(), num_classes
        )
        self.matcher = SSDMatcher(iou_thresh)
        mean, std = image_mean or [0.485, 0.456, 0.406], image_std or [0.229, 0.224, 0.225]
        options = {"size_divisible": 1, "fixed_size": size, **kwargs}
        self.transform = GeneralizedRCNNTransform(min(size), max(size), mean, std, **options)
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self.negatives_per_positive = (1.0 - positive_fraction) / positive_fraction

    def _losses(self, targets: list[Target], outputs: dict[str, Tensor], anchors: list[Tensor]) -> dict[str, Tensor]:
        logits, deltas = outputs["cls_logits"], outputs["bbox_regression"]
        box_losses, labels = [], []
        for target, delta, image_anchors in zip(targets, deltas, anchors, strict=True):
            matches = self.matcher(box_ops.box_iou(target["boxes"], image_anchors))
            positive = torch.where(matches >= 0)[0]
            target_deltas = self.box_coder.encode(target["boxes"][matches[positive]], image_anchors[positive])
            box_losses.append(F.smooth_l1_loss(delta[positive], target_deltas, reduction="sum"))
            label = torch.zeros_like(matches)
            label[positive] = target["labels"][matches[positive]]
            labels.append(label)
        label = torch.stack(labels)
        entropy = F.cross_entropy(logits.flatten(0, 1), label.flatten(), reduction="none").reshape(label.shape)
        positive = label > 0
        # Hard negative mining: of the background boxes, only those with the largest losses are part of the loss.
        hardness = entropy.detach().masked_fill(positive, -float("inf"))
        rank = hardness.argsort(dim=1, descending=True).argsort(dim=1)
        negative = rank < self.negatives_per_positive * positive.sum(dim=1, keepdim=True)
        count = max(1, int(positive.sum()))
        return {
            "bbox_regression": torch.stack(box_losses).sum() / count,
            "classification": (entropy[positive].sum() + entropy[negative].sum()) / count,
        }

    def _results(self, logits: Tensor, deltas: Tensor, anchors: Tensor, image_shape: tuple[int, int]) -> Target:
        scores = F.softmax(logits, dim=-1)
        decoded = box_ops.clip_boxes_to_image(self.box_coder.decode(deltas, anchors), image_shape)
        parts = []
        for label in range(1, scores.shape[-1]):
            candidates = torch.where(scores[:, label] > self.score_thresh)[0]
            best = scores[candidates, label].topk(min(self.topk_candidates, len(candidates)))
            parts.append((decoded[candidates[best.indices]], best.values, torch.full_like(best.indices, label)))
        boxes, score, labels = (torch.cat(columns) for columns in zip(*parts, strict=True))
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
        parts = zip(outputs["cls_logits"], outputs["bbox_regression"], anchors, batch.image_sizes, strict=True)
        results = [self._results(*part) for part in parts]
        return losses_or_detections(self, {}, self.transform.postprocess(results, batch.image_sizes, sizes))


class SSDFeatureExtractorVGG(nn.Module):
    """Compute features of six scales: with the convolutions of VGG, followed by additional convolutions."""

    out_channels = (512, 1024, 512, 256, 256, 256)

    def __init__(self, backbone: nn.Sequential) -> None:
        super().__init__()
        _, _, third, fourth, _ = (index for index, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d))
        backbone[third].ceil_mode = True  # so that the feature maps have the sizes in the paper
        self.scale_weight = nn.Parameter(torch.ones(512) * 20)
        self.features = nn.Sequential(*backbone[:fourth])
        extra_blocks = nn.ModuleList(
            [
                self._block(1024, 256, 512, stride=2, padding=1),
                self._block(512, 128, 256, stride=2, padding=1),
                self._block(256, 128, 256),
                self._block(256, 128, 256),
            ]
        )
        _xavier(extra_blocks)
        dense = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=False),
            nn.Conv2d(512, 1024, kernel_size=3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, kernel_size=1),
            nn.ReLU(inplace=True),
        )
        _xavier(dense)
        self.extra = nn.ModuleList([nn.Sequential(*backbone[fourth:-1], dense), *extra_blocks])

    @staticmethod
    def _block(in_channels: int, narrow: int, out_channels: int, **geometry: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(in_channels, narrow, kernel_size=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(narrow, out_channels, kernel_size=3, **geometry),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        x = self.features(x)
        outputs = [self.scale_weight[:, None, None] * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            outputs.append(x)
        return OrderedDict((str(index), output) for index, output in enumerate(outputs))


def _vgg_extractor(network: nn.Module, trainable_layers: int) -> SSDFeatureExtractorVGG:
    """Convert a VGG to a feature extractor, and freeze all but its last `trainable_layers` stages."""
    layers = network.features
    starts = [0, *(index for index, layer in enumerate(layers[:-1]) if isinstance(layer, nn.MaxPool2d))]
    if not 0 <= trainable_layers <= len(starts):
        raise ValueError(f"trainable_layers should be in the range [0, {len(starts)}]. Instead got {trainable_layers}")
    first = len(layers) if trainable_layers == 0 else starts[len(starts) - trainable_layers]
    for layer in layers[:first]:
        for parameter in layer.parameters():
            parameter.requires_grad_(False)
    return SSDFeatureExtractorVGG(layers)


class SSD300_VGG16_Weights(WeightsEnum):
    COCO_V1 = coco("ssd300_vgg16_coco-b556d3b4", 35641826)
    DEFAULT = COCO_V1


@register_model(SSD300_VGG16_Weights, loads_weights=True)
def ssd300_vgg16(*, weights: Any, progress: bool, **kwargs: Any) -> SSD:
    """Build SSD on VGG-16, for images resized to 300 x 300; further arguments are passed to `SSD`.

    `weights_backbone` are the weights of VGG. `trainable_backbone_layers` is the number of stages of VGG to train, from 0 to 5.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, VGG16_Weights.IMAGENET1K_FEATURES, largest=5, usual=4)
    backbone = _vgg_extractor(vgg16(weights=backbone_weights, progress=progress), trained)
    boxes = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    colours = {"image_mean": [0.48235, 0.45882, 0.40784], "image_std": [1.0 / 255.0] * 3}
    return load_weights(SSD(backbone, boxes, (300, 300), **{**colours, **kwargs}), weights, progress)
