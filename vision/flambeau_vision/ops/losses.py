"""Losses of detectors."""

from __future__ import annotations

import flambeau.nn.functional as F

import flambeau as torch

from .boxes import ciou, diou, giou

__all__ = [
    "complete_box_iou_loss",
    "distance_box_iou_loss",
    "generalized_box_iou_loss",
    "sigmoid_focal_loss",
]

Tensor = torch.Tensor


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    if reduction == "mean":
        # The mean of nothing is zero, and keeps its place in the graph.
        return loss.mean() if loss.numel() > 0 else 0.0 * loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
    )


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Binary cross-entropy that counts hard examples more: [focal loss](https://arxiv.org/abs/1708.02002).

    Args:
        inputs: logits of any shape.
        targets: 0 or 1, of the same shape, floating.
        alpha: weight of the positive class; negative for none.
        gamma: how much less easy examples count.
        reduction: `none`, `mean` or `sum`.
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    probability = torch.sigmoid(inputs)
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    wrong = probability * (1 - targets) + (1 - probability) * targets
    loss = entropy * wrong**gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return _reduce(loss, reduction)


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less the GIoU of corresponding boxes of shape `(N, 4)`."""
    return _reduce(1 - giou(boxes1, boxes2, eps), reduction)


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less the DIoU of corresponding boxes of shape `(N, 4)`."""
    return _reduce(1 - diou(boxes1, boxes2, eps, eps), reduction)


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less the CIoU of corresponding boxes of shape `(N, 4)`."""
    return _reduce(1 - ciou(boxes1, boxes2, eps, eps), reduction)
