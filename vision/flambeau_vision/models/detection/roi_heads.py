"""The second stage: what is in the proposed regions."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau.nn.functional as F

import flambeau as torch
from flambeau import nn

from ...ops import boxes as box_ops
from ._keypoints import find_keypoints, keypoint_loss
from ._masks import mask_loss, mask_probabilities
from ._utils import BETWEEN, BoxCoder, Matcher, draw_balanced

__all__ = ["RoIHeads"]

Tensor = torch.Tensor


class RoIHeads(nn.Module):
    """Classify regions and move their boxes; where it has heads for that, find masks and keypoints too.

    Args:
        box_roi_pool: features of regions.
        box_head: from these to vectors.
        box_predictor: from vectors to scores of classes, and box deltas for each class.
        fg_iou_thresh: overlap with an object from which a region is to learn it.
        bg_iou_thresh: overlap below which it is to learn background.
        batch_size_per_image: regions to learn from.
        positive_fraction: largest share of objects among them.
        bbox_reg_weights: factors of the deltas.
        score_thresh: least score of a result.
        nms_thresh: overlap of results of one class above which the less likely is dropped.
        detections_per_img: most results.
        mask_roi_pool: features of regions for masks.
        mask_head: from these to features.
        mask_predictor: from features to a picture for each class; None for no masks.
        keypoint_roi_pool: features of regions for keypoints.
        keypoint_head: from these to features.
        keypoint_predictor: from features to a picture for each keypoint; None for no keypoints.
    """

    def __init__(
        self,
        box_roi_pool: nn.Module,
        box_head: nn.Module,
        box_predictor: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        bbox_reg_weights: Sequence[float] | None,
        score_thresh: float,
        nms_thresh: float,
        detections_per_img: int,
        mask_roi_pool: nn.Module | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        keypoint_roi_pool: nn.Module | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.box_coder = BoxCoder(bbox_reg_weights or (10.0, 10.0, 5.0, 5.0))
        self.matcher = Matcher(fg_iou_thresh, bg_iou_thresh)
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool = mask_roi_pool
        self.mask_head = mask_head
        self.mask_predictor = mask_predictor
        self.keypoint_roi_pool = keypoint_roi_pool
        self.keypoint_head = keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def _sample(self, proposals: Tensor, target: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Regions of one image to learn from, their classes, the deltas to learn, and the objects that they show."""
        boxes = target["boxes"].to(proposals.dtype)
        regions = torch.cat([proposals, boxes])
        matches = self.matcher(box_ops.box_iou(boxes, regions))
        if len(boxes) == 0:
            boxes, classes = boxes.new_zeros(1, 4), torch.zeros(1, dtype=torch.int64, device=regions.device)
        else:
            classes = target["labels"]
        labels = torch.where(matches >= 0, classes[matches.clamp(min=0)], torch.zeros_like(matches))
        labels = torch.where(matches == BETWEEN, torch.full_like(labels, -1), labels)
        chosen = torch.cat(draw_balanced(labels, self.batch_size_per_image, self.positive_fraction)).sort().values
        regions, labels = regions[chosen], labels[chosen]
        objects = matches[chosen].clamp(min=0)
        return regions, labels, self.box_coder.encode(boxes[objects], regions), objects

    @staticmethod
    def _losses(logits: Tensor, deltas: Tensor, labels: Tensor, target_deltas: Tensor) -> dict[str, Tensor]:
        positive = torch.where(labels > 0)[0]
        predicted = deltas.reshape(len(labels), -1, 4)[positive, labels[positive]]
        box_loss = F.smooth_l1_loss(predicted, target_deltas[positive], beta=1 / 9, reduction="sum") / labels.numel()
        return {"loss_classifier": F.cross_entropy(logits, labels), "loss_box_reg": box_loss}

    def _results(self, boxes: Tensor, scores: Tensor, image_shape: tuple[int, int]) -> dict[str, Tensor]:
        """The best results for one image, from a box and a score for each region and class."""
        classes = scores.shape[1]
        boxes = box_ops.clip_boxes_to_image(boxes, image_shape)[:, 1:].reshape(-1, 4)
        labels = torch.arange(1, classes, device=boxes.device).repeat(len(scores))
        scores = scores[:, 1:].flatten()
        keep = torch.where(scores > self.score_thresh)[0]
        keep = keep[box_ops.remove_small_boxes(boxes[keep], 1e-2)]
        best = box_ops.batched_nms(boxes[keep], scores[keep], labels[keep], self.nms_thresh)
        keep = keep[best[: self.detections_per_img]]
        return {"boxes": boxes[keep], "labels": labels[keep], "scores": scores[keep]}

    def forward(
        self,
        features: dict[str, Tensor],
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
        targets: list[dict[str, Tensor]] | None = None,
    ) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        """The results for each image, or in training the losses."""
        if self.training:
            samples = [self._sample(*pair) for pair in zip(proposals, targets, strict=True)]
            proposals = [regions for regions, *_ in samples]
        vectors = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        logits, deltas = self.box_predictor(vectors)
        if self.training:
            labels, target_deltas = (torch.cat([sample[part] for sample in samples]) for part in (1, 2))
            losses = self._losses(logits, deltas, labels, target_deltas)
            return [], {**losses, **self._losses_of_objects(features, image_shapes, samples, targets)}
        regions = torch.cat(proposals)
        boxes = self.box_coder.decode(deltas.reshape(len(regions), -1, 4), regions[:, None])
        counts = [len(image_proposals) for image_proposals in proposals]
        parts = zip(boxes.split(counts), F.softmax(logits, -1).split(counts), image_shapes, strict=True)
        results = [self._results(*part) for part in parts]
        self._add_masks_and_keypoints(features, image_shapes, results)
        return results, {}

    def _pictures(self, kind: str, features: dict[str, Tensor], boxes: list[Tensor], shapes: list[tuple[int, int]]) -> Tensor:
        """What the heads for masks or keypoints make of regions."""
        pool, head, predictor = (getattr(self, f"{kind}_{part}") for part in ("roi_pool", "head", "predictor"))
        return predictor(head(pool(features, boxes, shapes)))

    def _losses_of_objects(
        self,
        features: dict[str, Tensor],
        image_shapes: list[tuple[int, int]],
        samples: list[tuple[Tensor, ...]],
        targets: list[dict[str, Tensor]],
    ) -> dict[str, Tensor]:
        """The losses of masks and keypoints, learned from the regions that show an object."""
        losses: dict[str, Tensor] = {}
        if self.mask_predictor is None and self.keypoint_predictor is None:
            return losses
        shown = [torch.where(labels > 0)[0] for _, labels, _, _ in samples]
        regions = [sample[0][places] for sample, places in zip(samples, shown, strict=True)]
        objects = [sample[3][places] for sample, places in zip(samples, shown, strict=True)]
        if self.mask_predictor is not None:
            pictures = self._pictures("mask", features, regions, image_shapes)
            masks, labels = ([target[name] for target in targets] for name in ("masks", "labels"))
            losses["loss_mask"] = mask_loss(pictures, regions, masks, labels, objects)
        if self.keypoint_predictor is not None:
            pictures = self._pictures("keypoint", features, regions, image_shapes)
            keypoints = [target["keypoints"] for target in targets]
            losses["loss_keypoint"] = keypoint_loss(pictures, regions, keypoints, objects)
        return losses

    def _add_masks_and_keypoints(
        self, features: dict[str, Tensor], image_shapes: list[tuple[int, int]], results: list[dict[str, Tensor]]
    ) -> None:
        boxes = [result["boxes"] for result in results]
        if self.mask_predictor is not None:
            pictures = self._pictures("mask", features, boxes, image_shapes)
            chosen = mask_probabilities(pictures, [result["labels"] for result in results])
            for result, masks in zip(results, chosen, strict=True):
                result["masks"] = masks
        if self.keypoint_predictor is not None:
            pictures = self._pictures("keypoint", features, boxes, image_shapes)
            for result, maps in zip(results, pictures.split([len(part) for part in boxes]), strict=True):
                result["keypoints"], result["keypoints_scores"] = find_keypoints(maps, result["boxes"])
