"""Losses for object detection: focal loss of class scores, and losses of boxes that are based on the IoU."""

from __future__ import annotations

import flambeau as torch
import flambeau.nn.functional as F

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
        # The mean of an empty loss is 0, not NaN. The sum keeps it connected to the autograd graph.
        return loss.mean() if loss.numel() > 0 else 0.0 * loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'")


def sigmoid_focal_loss(inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none") -> Tensor:
    """Compute the focal loss: binary cross-entropy with lower weights for well classified examples.

    For the probability p of the true class, the loss is `-alpha * (1 - p)**gamma * log(p)`. Lin, Goyal, Girshick, He and
    Dollár, [Focal Loss for Dense Object Detection](https://arxiv.org/abs/1708.02002), 2017.

    Args:
        inputs: logits of any shape.
        targets: the true class of each element, 0.0 or 1.0, in the same shape.
        alpha: weight of class 1, from 0 to 1; class 0 has the weight `1 - alpha`. -1 disables the weights.
        gamma: exponent that reduces the weight of well classified examples; with 0, the loss is the plain cross-entropy.
        reduction: `"none"` for a loss for each element, `"mean"` or `"sum"`.

    Raises:
        ValueError: `alpha` is out of range, or `reduction` unknown.

    Example:
        >>> from flambeau_vision.ops import sigmoid_focal_loss
        >>> sigmoid_focal_loss(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]), alpha=-1)
        tensor([0.1733, 0.0018])
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


def generalized_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Compute `1 - GIoU` (generalized IoU) of corresponding boxes. The gradient is nonzero even if the boxes are disjoint.

    See `generalized_box_iou`. Rezatofighi et al., [Generalized Intersection over
    Union](https://arxiv.org/abs/1902.09630), 2019.

    Args:
        boxes1: the predicted boxes, of shape `(N, 4)`, `(x1, y1, x2, y2)` with `x1 < x2` and `y1 < y2`.
        boxes2: the true boxes, in the same form; row `i` is the target of row `i` of `boxes1`.
        reduction: `"none"` for a loss for each box, `"mean"` or `"sum"`.
        eps: added to denominators, to avoid a division by 0.

    Raises:
        ValueError: `reduction` is unknown.

    Example:
        >>> from flambeau_vision.ops import generalized_box_iou_loss
        >>> generalized_box_iou_loss(torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.tensor([[3.0, 0.0, 4.0, 1.0]]))
        tensor([1.5000])
    """
    return _reduce(1 - giou(boxes1, boxes2, eps), reduction)


def distance_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Compute `1 - DIoU` (distance IoU) of corresponding boxes, which also penalizes the distance of their centres.

    See `distance_box_iou`. Zheng et al., [Distance-IoU Loss](https://arxiv.org/abs/1911.08287), 2019.

    Args:
        boxes1: the predicted boxes, of shape `(N, 4)`, `(x1, y1, x2, y2)` with `x1 < x2` and `y1 < y2`.
        boxes2: the true boxes, in the same form; row `i` is the target of row `i` of `boxes1`.
        reduction: `"none"` for a loss for each box, `"mean"` or `"sum"`.
        eps: added to denominators, to avoid a division by 0.

    Raises:
        ValueError: `reduction` is unknown.

    Example:
        >>> from flambeau_vision.ops import distance_box_iou_loss
        >>> distance_box_iou_loss(torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.tensor([[1.0, 1.0, 2.0, 2.0]]))
        tensor([1.2500])
    """
    return _reduce(1 - diou(boxes1, boxes2, eps, eps), reduction)


def complete_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Compute `1 - CIoU` (complete IoU) of corresponding boxes, which also penalizes distance and different aspect ratios.

    See `complete_box_iou`. Zheng et al., [Distance-IoU Loss](https://arxiv.org/abs/1911.08287), 2019.

    Args:
        boxes1: the predicted boxes, of shape `(N, 4)`, `(x1, y1, x2, y2)` with `x1 < x2` and `y1 < y2`.
        boxes2: the true boxes, in the same form; row `i` is the target of row `i` of `boxes1`.
        reduction: `"none"` for a loss for each box, `"mean"` or `"sum"`.
        eps: added to denominators, to avoid a division by 0.

    Raises:
        ValueError: `reduction` is unknown.

    Example:
        >>> from flambeau_vision.ops import complete_box_iou_loss
        >>> wide, high = torch.tensor([[0.0, 0.0, 4.0, 1.0]]), torch.tensor([[0.0, 0.0, 1.0, 4.0]])
        >>> complete_box_iou_loss(wide, high)
        tensor([1.1662])
    """
    return _reduce(1 - ciou(boxes1, boxes2, eps, eps), reduction)
