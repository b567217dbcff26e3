"""Region proposal network of Faster R-CNN (Ren et al., 2015): score anchors and turn the best into object proposals."""

from __future__ import annotations

from collections.abc import Mapping

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops import boxes as box_ops
from ...ops.misc import Conv2dNormActivation
from ._utils import BELOW, BETWEEN, BoxCoder, Matcher, sample_balanced
from .anchor_utils import AnchorGenerator
from .image_list import ImageList

__all__ = ["AnchorGenerator", "RPNHead", "RegionProposalNetwork"]

Tensor = torch.Tensor


class RPNHead(nn.Module):
    """Predict a score (objectness) and box deltas for each anchor at each position.

    Args:
        in_channels: channels of the features.
        num_anchors: number of anchors per position.
        conv_depth: number of 3 x 3 convolutions before the predictors.
    """

    def __init__(self, in_channels: int, num_anchors: int, conv_depth: int = 1) -> None:
        super().__init__()
        convs = [Conv2dNormActivation(in_channels, in_channels, 3, norm_layer=None) for _ in range(conv_depth)]
        self.conv = nn.Sequential(*convs)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, kernel_size=1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.normal_(module.weight, std=0.01)
                nn.init.constant_(module.bias, 0)
        self.register_load_state_dict_pre_hook(_rename_old_keys)

    def forward(self, x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        hidden = [self.conv(feature) for feature in x]
        return [self.cls_logits(feature) for feature in hidden], [self.bbox_pred(feature) for feature in hidden]


def _rename_old_keys(module: RPNHead, state_dict: dict, prefix: str, *args: object) -> None:
    # Early weights have a single convolution, named "conv" instead of "conv.0.0".
    for kind in ("weight", "bias"):
        if f"{prefix}conv.{kind}" in state_dict:
            state_dict[f"{prefix}conv.0.0.{kind}"] = state_dict.pop(f"{prefix}conv.{kind}")


def by_anchor(output: Tensor, values: int) -> Tensor:
    """Rearrange the output of a prediction head from `(N, anchors * values, H, W)` to `(N, H * W * anchors, values)`."""
    batch, _, height, width = output.shape
    return output.reshape(batch, -1, values, height, width).permute(0, 3, 4, 1, 2).reshape(batch, -1, values)


class RegionProposalNetwork(nn.Module):
    """Propose regions that may contain objects, as in [Faster R-CNN](https://arxiv.org/abs/1506.01497).

    Args:
        anchor_generator: generates the anchors.
        head: scores the anchors and predicts box deltas.
        fg_iou_thresh: minimum IoU at which an anchor is matched with an object.
        bg_iou_thresh: an anchor whose IoU with every object is lower is background.
        batch_size_per_image: number of anchors per image that are sampled for the training loss.
        positive_fraction: largest fraction of the sampled anchors that are matched with objects.
        pre_nms_top_n: number of proposals per feature map to keep before non-maximum suppression, a dict with the keys
            `training` and `testing`.
        post_nms_top_n: number of proposals per image to keep after non-maximum suppression, a dict with the same keys.
        nms_thresh: IoU threshold of non-maximum suppression.
        score_thresh: minimum probability of a proposal.
    """

    def __init__(
        self,
        anchor_generator: nn.Module,
        head: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        pre_nms_top_n: Mapping[str, int],
        post_nms_top_n: Mapping[str, int],
        nms_thresh: float,
        score_thresh: float = 0.0,
    ) -> None:
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        self.matcher = Matcher(fg_iou_thresh, bg_iou_thresh, every_object=True)
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction
        self.pre_nms_top_n = pre_nms_top_n
        self.post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def _mode(self) -> str:
        return "training" if self.training else "testing"

    def _propose(self, boxes: Tensor, scores: Tensor, per_level: list[int], image_shape: tuple[int, int]) -> Tensor:
        """Return the proposals of one image: its best boxes after non-maximum suppression on each feature map."""
        candidates, levels, start = [], [], 0
        for level, count in enumerate(per_level):
            best = scores[start : start + count].topk(min(self.pre_nms_top_n[self._mode()], count)).indices
            candidates.append(best + start)
            levels.append(torch.full_like(best, level))
            start += count
        candidate, level = torch.cat(candidates), torch.cat(levels)
        boxes, scores = box_ops.clip_boxes_to_image(boxes[candidate], image_shape), torch.sigmoid(scores[candidate])
        keep = box_ops.remove_small_boxes(boxes, self.min_size)
        keep = keep[scores[keep] >= self.score_thresh]
        best = box_ops.batched_nms(boxes[keep], scores[keep], level[keep], self.nms_thresh)
        return boxes[keep[best[: self.post_nms_top_n[self._mode()]]]]

    def _labels(self, anchors: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the label of each anchor, 1 (object), 0 (background) or -1 (ignored), and its matched box."""
        matches = self.matcher(box_ops.box_iou(boxes, anchors))
        labels = (matches >= 0).to(torch.float32)
        labels = torch.where(matches == BETWEEN, torch.full_like(labels, -1.0), labels)
        labels = torch.where(matches == BELOW, torch.zeros_like(labels), labels)
        return labels, boxes[matches.clamp(min=0)] if len(boxes) else torch.zeros_like(anchors)

    def _losses(
        self, logits: Tensor, deltas: Tensor, anchors: list[Tensor], targets: list[dict[str, Tensor]]
    ) -> dict[str, Tensor]:
        labelled = [self._labels(image_anchors, target["boxes"]) for image_anchors, target in zip(anchors, targets, strict=True)]
        count = anchors[0].shape[0]
        positive, negative = [], []
        for index, (labels, _) in enumerate(labelled):
            objects, background = sample_balanced(labels, self.batch_size_per_image, self.positive_fraction)
            positive.append(objects + index * count)
            negative.append(background + index * count)
        positives = torch.cat(positive)
        sampled = torch.cat([positives, *negative])
        labels = torch.cat([labels for labels, _ in labelled])
        target_deltas = self.box_coder.encode(
            torch.cat([boxes for _, boxes in labelled])[positives], torch.cat(anchors)[positives]
        )
        box_loss = F.smooth_l1_loss(deltas.flatten(0, 1)[positives], target_deltas, beta=1 / 9, reduction="sum")
        return {
            "loss_objectness": F.binary_cross_entropy_with_logits(logits.flatten()[sampled], labels[sampled]),
            "loss_rpn_box_reg": box_loss / sampled.numel(),
        }

    def forward(
        self, images: ImageList, features: dict[str, Tensor], targets: list[dict[str, Tensor]] | None = None
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Return the proposals of each image, and a dict of losses, which is empty in evaluation mode."""
        maps = list(features.values())
        objectness, regression = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        per_level = [output[0].numel() for output in objectness]
        logits = torch.cat([by_anchor(output, 1) for output in objectness], dim=1)[..., 0]
        deltas = torch.cat([by_anchor(output, 4) for output in regression], dim=1)
        decoded = self.box_coder.decode(deltas.detach(), torch.stack(anchors))
        proposals = [
            self._propose(boxes, scores, per_level, shape)
            for boxes, scores, shape in zip(decoded, logits.detach(), images.image_sizes, strict=True)
        ]
        return proposals, self._losses(logits, deltas, anchors, targets) if self.training else {}
