"""Convert, compare and suppress boxes. Boxes are `(x1, y1, x2, y2)` (left, top, right, bottom) unless stated otherwise."""

from __future__ import annotations

import math
from typing import Any

import flambeau as torch
from flambeau.overrides import handle_torch_function, has_torch_function

from ._nms import batched_nms_indices, nms_indices
from ._rotated import rotated_iou

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

_AXIS_ALIGNED = ("xyxy", "xywh", "cxcywh")
_ROTATED = ("xywhr", "cxcywhr", "xyxyxyxy")


def _upcast(boxes: Tensor) -> Tensor:
    """Convert boxes to a dtype in which areas do not overflow: float32 for float16 and bfloat16, int64 for integers."""
    if boxes.is_floating_point():
        return boxes if boxes.dtype in (torch.float32, torch.float64) else boxes.float()
    return boxes.long()


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Convert boxes from one format to another.

    Args:
        boxes: the boxes, of shape `(..., 4)`, `(..., 5)` or `(..., 8)`.
        in_fmt: the format of `boxes`: `"xyxy"` (left, top, right, bottom), `"xywh"` (left, top, width, height) or
            `"cxcywh"` (centre x, centre y, width, height); or for rotated boxes `"xywhr"` (a corner, width, height, and the
            angle in degrees counterclockwise), `"cxcywhr"` (centre, width, height, angle) or `"xyxyxyxy"` (four corners).
        out_fmt: the format to convert to, one of the formats of `in_fmt`.

    Raises:
        ValueError: a format is unknown.
        NotImplementedError: one format is for rotated boxes, the other is not.

    Example:
        >>> from flambeau_vision.ops import box_convert
        >>> box_convert(torch.tensor([[1.0, 2.0, 5.0, 10.0]]), "xyxy", "cxcywh")
        tensor([[3., 6., 4., 8.]])
    """
    if not {in_fmt, out_fmt} <= {*_AXIS_ALIGNED, *_ROTATED}:
        raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    if in_fmt in _ROTATED and out_fmt in _ROTATED:
        return _from_corner(_to_corner(boxes, in_fmt), out_fmt)
    if in_fmt in _ROTATED or out_fmt in _ROTATED:
        raise NotImplementedError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
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


def _axes(r: Tensor, w: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the side vectors of boxes rotated by `r` degrees: along the width, then along the height."""
    cos, sin = torch.cos(r * math.pi / 180), torch.sin(r * math.pi / 180)
    return w * cos, -w * sin, h * sin, h * cos


def _rounded(numbers: list[Tensor], like: Tensor) -> Tensor:
    stacked = torch.stack(numbers, dim=-1)
    return stacked if like.is_floating_point() else stacked.round().to(like.dtype)


def _to_corner(boxes: Tensor, form: str) -> Tensor:
    """Convert rotated boxes to `xywhr`."""
    if form == "xywhr":
        return boxes
    if form == "cxcywhr":
        x, y, w, h, r = boxes.unbind(-1)
        wide_x, wide_y, high_x, high_y = _axes(r, w, h)
        return _rounded([x - wide_x / 2 - high_x / 2, y - wide_y / 2 - high_y / 2, w, h, r], boxes)
    x1, y1, x2, y2, x3, y3, _, _ = boxes.unbind(-1)
    r = torch.atan2(y1 - y2, x2 - x1) * 180 / math.pi
    w, h = ((x2 - x1) ** 2 + (y2 - y1) ** 2).sqrt(), ((x3 - x2) ** 2 + (y3 - y2) ** 2).sqrt()
    return _rounded([x1, y1, w, h, r], boxes)


def _from_corner(boxes: Tensor, form: str) -> Tensor:
    """Convert rotated boxes from `xywhr` to another format."""
    if form == "xywhr":
        return boxes
    x, y, w, h, r = boxes.unbind(-1)
    wide_x, wide_y, high_x, high_y = _axes(r, w, h)
    if form == "cxcywhr":
        return _rounded([x + wide_x / 2 + high_x / 2, y + wide_y / 2 + high_y / 2, w, h, r], boxes)
    right_x, right_y = x + wide_x, y + wide_y
    corners = [x, y, right_x, right_y, right_x + high_x, right_y + high_y, x + high_x, y + high_y]
    return _rounded(corners, boxes)


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """Return the areas of boxes.

    Args:
        boxes: the boxes, of shape `(..., 4)`.
        fmt: the format of `boxes`: `"xyxy"`, `"xywh"` or `"cxcywh"`.

    Returns:
        a tensor of shape `(...)` with the dtype of `boxes`; but float32 for floats of lower precision, int64 for integers.

    Raises:
        ValueError: `fmt` is unknown.

    Example:
        >>> from flambeau_vision.ops import box_area
        >>> box_area(torch.tensor([[0.0, 0.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0]]))
        tensor([6., 1.])
    """
    if fmt not in _AXIS_ALIGNED:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    x1, y1, x2, y2 = _upcast(boxes).unbind(-1)
    return (x2 - x1) * (y2 - y1) if fmt == "xyxy" else x2 * y2


# The following functions compare boxes of broadcastable shapes. The public functions insert dimensions to compare all pairs.


def _enclosing_size(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the width and height of the smallest box that contains a box of `boxes1` and a box of `boxes2`."""
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
    sides = _enclosing_size(boxes1, boxes2)
    hull = sides[..., 0] * sides[..., 1]
    return intersection / (union + eps) - (hull - union) / (hull + eps)


def _normalized_distance(boxes1: Tensor, boxes2: Tensor, eps: float) -> Tensor:
    """Return the squared distance of the centres of two boxes, divided by the squared diagonal of the enclosing box."""
    between = (boxes1[..., :2] + boxes1[..., 2:] - boxes2[..., :2] - boxes2[..., 2:]) / 2
    return (between**2).sum(-1) / ((_enclosing_size(boxes1, boxes2) ** 2).sum(-1) + eps)


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
    return _upcast(boxes1)[..., :, None, :], _upcast(boxes2)[..., None, :, :]


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """Compute the intersection over union (IoU) of all pairs of boxes.

    Args:
        boxes1: boxes of shape `(..., N, 4)`; rotated boxes `(N, 5)` or `(N, 8)`.
        boxes2: boxes of shape `(..., M, 4)`, `(M, 5)` or `(M, 8)`.
        fmt: format of the boxes, one of the formats of `box_convert`.

    Returns:
        a tensor of shape `(..., N, M)`, of values from 0 to 1.

    Raises:
        ValueError: `fmt` is unknown.

    Example:
        >>> from flambeau_vision.ops import box_iou
        >>> square = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
        >>> box_iou(square, torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 0.0, 3.0, 2.0]]))
        tensor([[1.0000, 0.3333]])
    """
    if fmt in _ROTATED:
        return rotated_iou(*(box_convert(_upcast(boxes), fmt, "xyxyxyxy") for boxes in (boxes1, boxes2)))
    if fmt not in _AXIS_ALIGNED:
        raise ValueError(
            f"Unsupported format '{fmt}'. Supported axis-aligned formats: {_AXIS_ALIGNED}. Supported rotated formats: {_ROTATED}."
        )
    return iou(*_pairs(*(box_convert(boxes, fmt, "xyxy") for boxes in (boxes1, boxes2))))


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Compute the generalized IoU of all pairs of boxes: IoU minus the fraction of the enclosing box that neither box covers.

    Rezatofighi et al., [Generalized Intersection over Union](https://arxiv.org/abs/1902.09630), 2019.

    Args:
        boxes1: boxes `(x1, y1, x2, y2)` of shape `(N, 4)`.
        boxes2: boxes of shape `(M, 4)`.

    Returns:
        a tensor of shape `(N, M)`, of values above -1 up to 1.

    Example:
        >>> from flambeau_vision.ops import generalized_box_iou
        >>> square = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
        >>> generalized_box_iou(square, torch.tensor([[0.0, 0.0, 1.0, 1.0], [3.0, 0.0, 4.0, 1.0]]))
        tensor([[ 1.0000, -0.5000]])
    """
    return giou(*_pairs(boxes1, boxes2))


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Compute the distance IoU of all pairs of boxes: the IoU minus a penalty for distant centres.

    The penalty is the squared distance of the centres, divided by the squared diagonal of the enclosing box.

    Zheng et al., [Distance-IoU Loss](https://arxiv.org/abs/1911.08287), 2019.

    Args:
        boxes1: boxes `(x1, y1, x2, y2)` of shape `(N, 4)`.
        boxes2: boxes of shape `(M, 4)`.
        eps: added to the squared diagonal, to avoid a division by 0.

    Returns:
        a tensor of shape `(N, M)`, of values above -1 up to 1.

    Example:
        >>> from flambeau_vision.ops import distance_box_iou
        >>> distance_box_iou(torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.tensor([[1.0, 1.0, 2.0, 2.0]]))
        tensor([[-0.2500]])
    """
    return diou(*_pairs(boxes1, boxes2), eps)


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Compute the complete IoU of all pairs of boxes: `distance_box_iou` minus a penalty for different aspect ratios.

    Zheng et al., [Distance-IoU Loss](https://arxiv.org/abs/1911.08287), 2019, where it is called CIoU.

    Args:
        boxes1: boxes `(x1, y1, x2, y2)` of shape `(N, 4)`.
        boxes2: boxes of shape `(M, 4)`.
        eps: added to denominators, to avoid a division by 0.

    Returns:
        a tensor of shape `(N, M)`.

    Example:
        >>> from flambeau_vision.ops import complete_box_iou
        >>> wide, high = torch.tensor([[0.0, 0.0, 4.0, 1.0]]), torch.tensor([[0.0, 0.0, 1.0, 4.0]])
        >>> complete_box_iou(wide, wide), complete_box_iou(wide, high)
        (tensor([[1.]]), tensor([[-0.1662]]))
    """
    return ciou(*_pairs(boxes1, boxes2), eps)


def _as_array(boxes: Tensor) -> Any:
    array = _upcast(boxes.detach()).cpu().numpy()
    return array if array.dtype.kind == "f" else array.astype("float64")


def _by_falling_score(scores: Tensor) -> Any:
    scores = scores.detach()
    array = scores.cpu().numpy()
    if array.dtype.kind == "f" and array.ndim == 1:
        order = (-array).argsort(kind="stable")
        # NumPy sorts NaN to the end, but PyTorch treats NaN as the largest score: use this order only without NaN.
        if not len(order) or array[order[-1]] == array[order[-1]]:
            return order
    return torch.argsort(scores, descending=True, stable=True).cpu().numpy()


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Non-maximum suppression: drop each box that overlaps a kept box of higher score by more than a threshold.

    Args:
        boxes: the boxes `(x1, y1, x2, y2)`, of shape `(N, 4)`.
        scores: the scores of the boxes, of shape `(N,)`.
        iou_threshold: number from 0 to 1. A box is dropped if its IoU with a kept box of higher score is larger.

    Returns:
        int64 indices of the kept boxes, sorted by falling score.

    Example:
        >>> from flambeau_vision.ops import nms
        >>> boxes = torch.tensor([[0.0, 0.0, 9.0, 9.0], [1.0, 0.0, 9.0, 9.0], [20.0, 0.0, 29.0, 9.0]])
        >>> nms(boxes, torch.tensor([0.7, 0.9, 0.8]), iou_threshold=0.5)
        tensor([1, 2])
    """
    if has_torch_function((boxes, scores)):  # as in PyTorch, `__torch_function__` is called once, for `nms`
        return handle_torch_function(nms, (boxes, scores), boxes, scores, iou_threshold)
    order = _by_falling_score(scores)
    best = nms_indices(_as_array(boxes).take(order, 0), iou_threshold)
    return torch.from_numpy(order[best]).long().to(boxes.device)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """Apply `nms` separately to each category: boxes of different categories do not suppress each other.

    Args:
        boxes: the boxes `(x1, y1, x2, y2)`, of shape `(N, 4)`.
        scores: the scores of the boxes, of shape `(N,)`.
        idxs: the categories of the boxes, integers of shape `(N,)`.
        iou_threshold: number from 0 to 1. A box is dropped if its IoU with a kept box of higher score is larger.

    Returns:
        int64 indices of the kept boxes, sorted by falling score.

    Example:
        >>> from flambeau_vision.ops import batched_nms
        >>> boxes = torch.tensor([[0.0, 0.0, 9.0, 9.0], [1.0, 0.0, 9.0, 9.0], [0.0, 0.0, 9.0, 8.0]])
        >>> batched_nms(boxes, torch.tensor([0.7, 0.9, 0.8]), torch.tensor([0, 0, 1]), iou_threshold=0.5)
        tensor([1, 2])
    """
    order = _by_falling_score(scores)
    best = batched_nms_indices(_as_array(boxes).take(order, 0), idxs.cpu().numpy()[order], iou_threshold)
    return torch.from_numpy(order[best]).long().to(boxes.device)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Return the indices of boxes with width and height of at least `min_size`.

    Args:
        boxes: the boxes `(x1, y1, x2, y2)`, of shape `(N, 4)`.
        min_size: minimum width and height.

    Returns:
        int64 indices of shape `(K,)`.

    Example:
        >>> from flambeau_vision.ops import remove_small_boxes
        >>> remove_small_boxes(torch.tensor([[0.0, 0.0, 9.0, 1.0], [0.0, 0.0, 5.0, 5.0]]), min_size=2)
        tensor([1])
    """
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return torch.where((wide >= min_size) & (high >= min_size))[0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Clamp boxes to an image, so that all corners are inside of the image.

    Args:
        boxes: the boxes `(x1, y1, x2, y2)`, of shape `(..., 4)`.
        size: `(height, width)` of the image.

    Example:
        >>> from flambeau_vision.ops import clip_boxes_to_image
        >>> clip_boxes_to_image(torch.tensor([[-2.0, 3.0, 8.0, 12.0]]), size=(10, 6))
        tensor([[ 0.,  3.,  6., 10.]])
    """
    height, width = size
    x, y = boxes[..., 0::2].clamp(min=0, max=width), boxes[..., 1::2].clamp(min=0, max=height)
    return torch.stack((x, y), dim=-1).reshape(boxes.shape)


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Return the bounding box of each mask.

    Args:
        masks: the masks, of shape `(N, H, W)`. Nonzero pixels are the object; each mask must have such a pixel.

    Returns:
        boxes `(x1, y1, x2, y2)` as floats of shape `(N, 4)`; x2 and y2 are the last column and row of the object.

    Example:
        >>> from flambeau_vision.ops import masks_to_boxes
        >>> mask = torch.zeros(1, 5, 5)
        >>> mask[0, 1:3, 2:5] = 1
        >>> masks_to_boxes(mask)
        tensor([[2., 1., 4., 2.]])
    """
    if masks.numel() == 0:
        return torch.zeros((0, 4), device=masks.device, dtype=torch.float)
    boxes = []
    for mask in masks:
        y, x = torch.where(mask != 0)
        boxes.append(torch.stack([x.min(), y.min(), x.max(), y.max()]))
    return torch.stack(boxes).float()
