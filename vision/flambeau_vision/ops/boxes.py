"""Boxes: conversion, overlap, suppression. Unless said otherwise a box is `(x1, y1, x2, y2)`, left, top, right, bottom."""

from __future__ import annotations

import math

import flambeau as torch

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
]

Tensor = torch.Tensor

_BLOCK = 1024  # boxes whose overlaps with all others are computed at once


def _wide(boxes: Tensor) -> Tensor:
    """A dtype in which areas do not overflow: float32 for halves, int64 for small integers."""
    if boxes.is_floating_point():
        return boxes if boxes.dtype in (torch.float32, torch.float64) else boxes.float()
    return boxes.long()


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes from one format to another: `xyxy`, `xywh` (left, top, width, height) or `cxcywh` (centre, size).

    Args:
        boxes: shape `(..., 4)`.
        in_fmt: the format they are in.
        out_fmt: the format to convert to.

    Raises:
        ValueError: for an unknown format.

    Example::

        >>> import flambeau as torch
        >>> from flambeau_vision.ops import box_convert
        >>> box_convert(torch.tensor([[1.0, 2.0, 5.0, 10.0]]), "xyxy", "cxcywh")
        tensor([[3., 6., 4., 8.]])
    """
    allowed = ("xyxy", "xywh", "cxcywh")
    if in_fmt not in allowed or out_fmt not in allowed:
        raise ValueError(
            f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
        )
    if in_fmt == out_fmt:
        return boxes.clone()
    a, b, c, d = boxes.unbind(-1)
    if in_fmt == "xywh":
        a, b, c, d = a, b, a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    if out_fmt == "xywh":
        a, b, c, d = a, b, c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return torch.stack((a, b, c, d), dim=-1).to(boxes.dtype)


def box_area(boxes: Tensor) -> Tensor:
    """The areas of boxes of shape `(N, 4)`."""
    x1, y1, x2, y2 = _wide(boxes).unbind(-1)
    return (x2 - x1) * (y2 - y1)


# Overlaps of boxes whose shapes broadcast; the functions with public names take all pairs.


def _hull_sides(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Width and height of the smallest box that holds both."""
    corner1 = torch.minimum(boxes1[..., :2], boxes2[..., :2])
    corner2 = torch.maximum(boxes1[..., 2:], boxes2[..., 2:])
    return (corner2 - corner1).clamp(min=0)


def _intersection_and_union(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    corner1 = torch.maximum(boxes1[..., :2], boxes2[..., :2])
    corner2 = torch.minimum(boxes1[..., 2:], boxes2[..., 2:])
    sides = (corner2 - corner1).clamp(min=0)
    intersection = sides[..., 0] * sides[..., 1]
    return intersection, box_area(boxes1) + box_area(boxes2) - intersection


def iou(boxes1: Tensor, boxes2: Tensor, eps: float = 0.0) -> Tensor:
    intersection, union = _intersection_and_union(boxes1, boxes2)
    return intersection / (union + eps)


def giou(boxes1: Tensor, boxes2: Tensor, eps: float = 0.0) -> Tensor:
    intersection, union = _intersection_and_union(boxes1, boxes2)
    sides = _hull_sides(boxes1, boxes2)
    hull = sides[..., 0] * sides[..., 1]
    return intersection / (union + eps) - (hull - union) / (hull + eps)


def _normalized_distance(boxes1: Tensor, boxes2: Tensor, eps: float) -> Tensor:
    """Squared distance of the centres over the squared diagonal of the hull."""
    between = (boxes1[..., :2] + boxes1[..., 2:] - boxes2[..., :2] - boxes2[..., 2:]) / 2
    return (between**2).sum(-1) / ((_hull_sides(boxes1, boxes2) ** 2).sum(-1) + eps)


def diou(boxes1: Tensor, boxes2: Tensor, eps: float = 0.0, iou_eps: float = 0.0) -> Tensor:
    return iou(boxes1, boxes2, iou_eps) - _normalized_distance(boxes1, boxes2, eps)


def _slope(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return torch.atan((x2 - x1) / (y2 - y1))


def ciou(boxes1: Tensor, boxes2: Tensor, eps: float = 0.0, iou_eps: float = 0.0) -> Tensor:
    shape = (4 / math.pi**2) * (_slope(boxes1) - _slope(boxes2)) ** 2
    with torch.no_grad():
        weight = shape / (1 - iou(boxes1, boxes2, iou_eps) + shape + eps)
    return diou(boxes1, boxes2, eps, iou_eps) - weight * shape


def _pairs(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    return _wide(boxes1)[:, None], _wide(boxes2)[None]


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Intersection over union of each pair.

    Args:
        boxes1: shape `(N, 4)`.
        boxes2: shape `(M, 4)`.

    Returns:
        Shape `(N, M)`, values from 0 to 1.

    Example::

        >>> import flambeau as torch
        >>> from flambeau_vision.ops import box_iou
        >>> square = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
        >>> box_iou(square, torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 0.0, 3.0, 2.0]]))
        tensor([[1.0000, 0.3333]])
    """
    return iou(*_pairs(boxes1, boxes2))


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """IoU less the share of the common hull that neither covers: [GIoU](https://giou.stanford.edu), in (-1, 1]."""
    return giou(*_pairs(boxes1, boxes2))


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """IoU less the distance of the centres: [DIoU](https://arxiv.org/abs/1911.08287)."""
    return diou(*_pairs(boxes1, boxes2), eps)


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """`distance_box_iou` less the difference of the shapes: [CIoU](https://arxiv.org/abs/1911.08287)."""
    return ciou(*_pairs(boxes1, boxes2), eps)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Non-maximum suppression: drop each box that overlaps one of higher score by more than the threshold.

    Args:
        boxes: shape `(N, 4)`.
        scores: shape `(N,)`.
        iou_threshold: largest overlap to keep.

    Returns:
        `int64` indices of the boxes that are kept, by falling score.

    Example::

        >>> import flambeau as torch
        >>> from flambeau_vision.ops import nms
        >>> boxes = torch.tensor([[0.0, 0.0, 9.0, 9.0], [1.0, 0.0, 9.0, 9.0], [20.0, 0.0, 29.0, 9.0]])
        >>> nms(boxes, torch.tensor([0.7, 0.9, 0.8]), iou_threshold=0.5)
        tensor([1, 2])
    """
    import numpy as np

    order = torch.argsort(scores, descending=True, stable=True)
    boxes = boxes.detach()[order]
    alive = np.ones(len(boxes), dtype=bool)
    for start in range(0, len(boxes), _BLOCK):
        rows = np.flatnonzero(alive[start : start + _BLOCK]) + start
        block = box_iou(boxes[torch.from_numpy(rows).to(boxes.device)], boxes[start:]) > iou_threshold
        for row, overlaps in zip(rows, block.cpu().numpy(), strict=True):
            if alive[row]:
                alive[start:] &= ~overlaps
                alive[row] = True
    return order[torch.from_numpy(np.flatnonzero(alive)).to(order.device)]


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """`nms` for each category by itself; `idxs` of shape `(N,)` are the categories."""
    if boxes.numel() == 0:
        return torch.empty(0, dtype=torch.int64, device=boxes.device)
    # Moved far apart, boxes of different categories do not overlap.
    offsets = idxs.to(boxes) * (boxes.max() + 1)
    return nms(boxes + offsets[:, None], scores, iou_threshold)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Indices of the boxes with both sides at least `min_size`."""
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return torch.where((wide >= min_size) & (high >= min_size))[0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes of shape `(..., 4)` cut off at the border of an image of `size` (height, width)."""
    height, width = size
    x, y = boxes[..., 0::2].clamp(min=0, max=width), boxes[..., 1::2].clamp(min=0, max=height)
    return torch.stack((x, y), dim=-1).reshape(boxes.shape)


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The smallest box around each mask of shape `(N, H, W)`, as floats of shape `(N, 4)`."""
    if masks.numel() == 0:
        return torch.zeros((0, 4), device=masks.device, dtype=torch.float)
    boxes = []
    for mask in masks:
        y, x = torch.where(mask != 0)
        boxes.append(torch.stack([x.min(), y.min(), x.max(), y.max()]))
    return torch.stack(boxes).float()
