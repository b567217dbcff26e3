"""Second stage of detectors: classify the proposed regions."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops import boxes as box_ops
from ._keypoints import heatmaps_to_keypoints, keypointrcnn_inference, keypointrcnn_loss
from ._masks import maskrcnn_inference, maskrcnn_loss, paste_masks_in_image
from ._utils import BETWEEN, BoxCoder, Matcher, sample_balanced

__all__ = [
    "RoIHeads",
    "fastrcnn_loss",
    "heatmaps_to_keypoints",
    "keypointrcnn_inference",
    "keypointrcnn_loss",
    "maskrcnn_inference",
    "maskrcnn_loss",
    "paste_masks_in_image",
]

Tensor = torch.Tensor


def fastrcnn_loss(
    class_logits: Tensor, box_regression: Tensor, labels: list[Tensor], regression_targets: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """Compute the classification loss and the box regression loss of regions.

    Args:
        class_logits: logits of the classes, `(regions, classes)`.
        box_regression: box deltas of each class, `(regions, classes * 4)`.
        labels: target classes of the regions of each image.
        regression_targets: target deltas of the regions of each image.
    """
    label, target_deltas = torch.cat(labels), torch.cat(regression_targets)
    positive = torch.where(label > 0)[0]
    predicted = box_regression.reshape(len(label), -1, 4)[positive, label[positive]]
    box_loss = F.smooth_l1_loss(predicted, target_deltas[positive], beta=1 / 9, reduction="sum") / label.numel()
    return F.cross_entropy(class_logits, label), box_loss


class RoIHeads(nn.Module):
    """Classify regions and refine their boxes. Also predict masks and keypoints, if modules for these are given.

    Args:
        box_roi_pool: pools region features.
        box_head: computes a vector from the features of a region.
        box_predictor: computes class scores, and box deltas per class, from vectors.
        fg_iou_thresh: minimum IoU of a region matched with an object.
        bg_iou_thresh: regions with a lower IoU are background.
        batch_size_per_image: number of sampled regions per image in training.
        positive_fraction: largest fraction of objects among the sampled regions.
        bbox_reg_weights: weights of the four deltas.
        score_thresh: minimum score of a detection.
        nms_thresh: IoU threshold of non-maximum suppression within a class.
        detections_per_img: maximum number of detections per image.
        mask_roi_pool: pools region features for masks.
        mask_head: transforms the pooled features.
        mask_predictor: predicts a mask for each class; None for no masks.
        keypoint_roi_pool: pools region features for keypoints.
        keypoint_head: transforms the pooled features.
        keypoint_predictor: predicts a heatmap for each keypoint; None for no keypoints.
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
        """Sample regions of one image for training. Return them, target classes, target deltas and matched objects."""
        boxes = target["boxes"].to(proposals.dtype)
        regions = torch.cat([proposals, boxes])
        matches = self.matcher(box_ops.box_iou(boxes, regions))
        if len(boxes) == 0:
            boxes, classes = boxes.new_zeros(1, 4), torch.zeros(1, dtype=torch.int64, device=regions.device)
        else:
            classes = target["labels"]
        labels = torch.where(matches >= 0, classes[matches.clamp(min=0)], torch.zeros_like(matches))
        labels = torch.where(matches == BETWEEN, torch.full_like(labels, -1), labels)
        sampled = torch.cat(sample_balanced(labels, self.batch_size_per_image, self.positive_fraction)).sort().values
        regions, labels = regions[sampled], labels[sampled]
        objects = matches[sampled].clamp(min=0)
        return regions, labels, self.box_coder.encode(boxes[objects], regions), objects

    def _results(self, boxes: Tensor, scores: Tensor, image_shape: tuple[int, int]) -> dict[str, Tensor]:
        """Return the detections of one image, given a box and a score for each region and class."""
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
        """Return the detections of each image, or in training the losses."""
        if self.training:
            samples = [self._sample(*pair) for pair in zip(proposals, targets, strict=True)]
            proposals = [regions for regions, *_ in samples]
        vectors = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        logits, deltas = self.box_predictor(vectors)
        if self.training:
            labels, target_deltas = ([sample[part] for sample in samples] for part in (1, 2))
            class_loss, box_loss = fastrcnn_loss(logits, deltas, labels, target_deltas)
            losses = {"loss_classifier": class_loss, "loss_box_reg": box_loss}
            return [], {**losses, **self._losses_of_objects(features, image_shapes, samples, targets)}
        regions = torch.cat(proposals)
        boxes = self.box_coder.decode(deltas.reshape(len(regions), -1, 4), regions[:, None])
        counts = [len(image_proposals) for image_proposals in proposals]
        parts = zip(boxes.split(counts), F.softmax(logits, -1).split(counts), image_shapes, strict=True)
        results = [self._results(*part) for part in parts]
        self._add_masks_and_keypoints(features, image_shapes, results)
        return results, {}

    def _run_heads(self, kind: str, features: dict[str, Tensor], boxes: list[Tensor], shapes: list[tuple[int, int]]) -> Tensor:
        """Predict masks of regions if `kind` is `"mask"`, or heatmaps of keypoints if it is `"keypoint"`."""
        pool, head, predictor = (getattr(self, f"{kind}_{part}") for part in ("roi_pool", "head", "predictor"))
        return predictor(head(pool(features, boxes, shapes)))

    def _losses_of_objects(
        self,
        features: dict[str, Tensor],
        image_shapes: list[tuple[int, int]],
        samples: list[tuple[Tensor, ...]],
        targets: list[dict[str, Tensor]],
    ) -> dict[str, Tensor]:
        """Compute the losses of masks and keypoints for the regions that are matched with an object."""
        losses: dict[str, Tensor] = {}
        if self.mask_predictor is None and self.keypoint_predictor is None:
            return losses
        shown = [torch.where(labels > 0)[0] for _, labels, _, _ in samples]
        regions = [sample[0][indices] for sample, indices in zip(samples, shown, strict=True)]
        objects = [sample[3][indices] for sample, indices in zip(samples, shown, strict=True)]
        if self.mask_predictor is not None:
            mask_logits = self._run_heads("mask", features, regions, image_shapes)
            masks, labels = ([target[name] for target in targets] for name in ("masks", "labels"))
            losses["loss_mask"] = maskrcnn_loss(mask_logits, regions, masks, labels, objects)
        if self.keypoint_predictor is not None:
            heatmaps = self._run_heads("keypoint", features, regions, image_shapes)
            keypoints = [target["keypoints"] for target in targets]
            losses["loss_keypoint"] = keypointrcnn_loss(heatmaps, regions, keypoints, objects)
        return losses

    def _add_masks_and_keypoints(
        self, features: dict[str, Tensor], image_shapes: list[tuple[int, int]], results: list[dict[str, Tensor]]
    ) -> None:
        boxes = [result["boxes"] for result in results]
        if self.mask_predictor is not None:
            mask_logits = self._run_heads("mask", features, boxes, image_shapes)
            masks_per_image = maskrcnn_inference(mask_logits, [result["labels"] for result in results])
            for result, masks in zip(results, masks_per_image, strict=True):
                result["masks"] = masks
        if self.keypoint_predictor is not None:
            heatmaps = self._run_heads("keypoint", features, boxes, image_shapes)
            for result, keypoints, scores in zip(results, *keypointrcnn_inference(heatmaps, boxes), strict=True):
                result["keypoints"], result["keypoints_scores"] = keypoints, scores
