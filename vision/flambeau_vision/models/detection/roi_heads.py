"""The second stage: what is in the proposed regions."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau.nn.functional as F

import flambeau as torch
from flambeau import nn

from ...ops import boxes as box_ops
from ._matching import BETWEEN, BoxCoder, Matcher, draw_balanced

__all__ = ["RoIHeads"]

Tensor = torch.Tensor


class RoIHeads(nn.Module):
    """Classify regions and move their boxes.

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

    def _sample(self, proposals: Tensor, target: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Regions of one image to learn from, their classes, and the deltas to learn."""
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
        return regions, labels, self.box_coder.encode(boxes[matches[chosen].clamp(min=0)], regions)

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
            proposals = [regions for regions, _, _ in samples]
        vectors = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        logits, deltas = self.box_predictor(vectors)
        if self.training:
            labels, target_deltas = (torch.cat([sample[part] for sample in samples]) for part in (1, 2))
            return [], self._losses(logits, deltas, labels, target_deltas)
        regions = torch.cat(proposals)
        boxes = self.box_coder.decode(deltas.reshape(len(regions), -1, 4), regions[:, None])
        counts = [len(image_proposals) for image_proposals in proposals]
        parts = zip(boxes.split(counts), F.softmax(logits, -1).split(counts), image_shapes, strict=True)
        return [self._results(*part) for part in parts], {}
