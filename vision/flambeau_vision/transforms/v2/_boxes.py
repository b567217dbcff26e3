"""Transforms of boxes and points: clamp, convert, crop around and remove them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from ... import tv_tensors
from ...ops.boxes import box_iou
from . import functional as F
from ._samples import Transform, get_labels, get_leaves, map_sample
from ._typed import keep_type

__all__ = [
    "ClampBoundingBoxes",
    "ClampKeyPoints",
    "ConvertBoundingBoxFormat",
    "RandomIoUCrop",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "SetClampingMode",
]

_BOXES = tv_tensors.BoundingBoxes


class ClampBoundingBoxes(Transform):
    """Clamp boxes to their canvas.

    Args:
        clamping_mode: `"soft"` or `"hard"` (see `flambeau_vision.tv_tensors.BoundingBoxes`), None to leave boxes unchanged, or
            `"auto"` for the `clamping_mode` of the boxes.

    Raises:
        ValueError: from calls, if `clamping_mode` is unknown.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([[-2, 1, 15, 4]], format="XYXY", canvas_size=(4, 10))
        >>> v2.ClampBoundingBoxes()(boxes).tolist()
        [[0, 1, 10, 4]]
    """

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode) if isinstance(inpt, _BOXES) else inpt


class ClampKeyPoints(Transform):
    """Clamp points to their canvas: points outside of it move to the border.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> v2.ClampKeyPoints()(tv_tensors.KeyPoints([[-2, 1], [12, 3]], canvas_size=(4, 10))).tolist()
        [[0, 1], [9, 3]]
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_keypoints(inpt) if isinstance(inpt, tv_tensors.KeyPoints) else inpt


class SetClampingMode(Transform):
    """Set whether later transforms clamp boxes to their canvas.

    Args:
        clamping_mode: `"soft"` or `"hard"` to clamp boxes (see `flambeau_vision.tv_tensors.BoundingBoxes`), None to allow boxes
            outside of the canvas.

    Raises:
        ValueError: `clamping_mode` is unknown.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 3]], format="XYXY", canvas_size=(4, 10))
        >>> v2.Compose([v2.SetClampingMode(None), v2.CenterCrop(4)])(boxes).tolist()
        [[-1, 1, 2, 3]]
    """

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(f"clamping_mode must be soft, hard or None, got {clamping_mode}")
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not isinstance(inpt, _BOXES):
            return inpt
        return tv_tensors.wrap(F.to_pure_tensor(inpt).clone(), like=inpt, clamping_mode=self.clamping_mode)


class ConvertBoundingBoxFormat(Transform):
    """Convert boxes to another format.

    Args:
        format: the format, a `BoundingBoxFormat` or its name: `"XYXY"` (left, top, right, bottom), `"XYWH"` (left, top,
            width, height) or `"CXCYWH"` (centre x, centre y, width, height).

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 3]], format="XYXY", canvas_size=(4, 10))
        >>> v2.ConvertBoundingBoxFormat("XYWH")(boxes).tolist()
        [[2, 1, 3, 2]]
    """

    def __init__(self, format: str | tv_tensors.BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.convert_bounding_box_format(inpt, new_format=self.format) if isinstance(inpt, _BOXES) else inpt


class RandomIoUCrop(Transform):
    """Crop a random rectangle whose IoU with at least one box is not below a random minimum.

    Boxes whose centre is outside of the crop become empty; `SanitizeBoundingBoxes` removes them. Liu et al., [SSD: Single Shot
    MultiBox Detector](https://arxiv.org/abs/1512.02325), 2015.

    Args:
        min_scale: smallest side length of the rectangle, as a fraction of the image size.
        max_scale: largest side length of the rectangle, as a fraction of the image size.
        min_aspect_ratio: the smallest ratio of width to height.
        max_aspect_ratio: the largest ratio of width to height.
        sampler_options: values that the minimum IoU is drawn from. If the value is 1 or more, the image is not cropped.
            None for 0, 0.1, 0.3, 0.5, 0.7, 0.9 and 1.
        trials: number of rectangles to try before another minimum IoU is drawn.

    Raises:
        TypeError: from calls, if the sample has no boxes.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 20, 14]], format="XYXY", canvas_size=(16, 32))
        >>> image, boxes = v2.RandomIoUCrop()(torch.rand(3, 16, 32), boxes)
        >>> tuple(image.shape[-2:]) == boxes.canvas_size
        True
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: Sequence[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.scale = (min_scale, max_scale)
        self.ratio = (min_aspect_ratio, max_aspect_ratio)
        self.options = list(sampler_options or (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0))
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if not any(isinstance(part, _BOXES) for part in flat_inputs):
            raise TypeError(f"{type(self).__name__}() requires input sample to contain bounding boxes")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        boxes = next(part for part in flat_inputs if isinstance(part, _BOXES))
        xyxy = F.to_pure_tensor(F.convert_bounding_box_format(boxes, new_format="XYXY")).float()
        while True:
            overlap = self.options[int(torch.randint(len(self.options), ()))]
            if overlap >= 1.0:
                return {}
            for _ in range(self.trials):
                params = self._try(xyxy, *boxes.canvas_size, overlap)
                if params is not None:
                    return params

    def _try(self, xyxy: torch.Tensor, height: int, width: int, overlap: float) -> dict[str, Any] | None:
        low, high = self.scale
        share_x, share_y = (low + (high - low) * torch.rand(2)).tolist()
        new_width, new_height = int(width * share_x), int(height * share_y)
        if not new_height or not self.ratio[0] <= new_width / new_height <= self.ratio[1]:
            return None
        place_x, place_y = torch.rand(2).tolist()
        left, top = int((width - new_width) * place_x), int((height - new_height) * place_y)
        right, bottom = left + new_width, top + new_height
        if left == right or top == bottom:
            return None
        x, y = (xyxy[:, 0] + xyxy[:, 2]) / 2, (xyxy[:, 1] + xyxy[:, 3]) / 2
        inside = (left < x) & (x < right) & (top < y) & (y < bottom)
        if not inside.any():
            return None
        window = torch.tensor([[left, top, right, bottom]], dtype=xyxy.dtype, device=xyxy.device)
        if box_iou(xyxy[inside], window).max() < overlap:
            return None
        return {"crop": (top, left, new_height, new_width), "inside": inside}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not params:
            return inpt
        result = F.crop(inpt, *params["crop"])
        if isinstance(result, _BOXES):
            result = tv_tensors.wrap(F.to_pure_tensor(result) * params["inside"][:, None], like=result)
        return result


class SanitizeBoundingBoxes(Transform):
    """Remove boxes that are too small or partly outside of the canvas, together with their labels and masks.

    Args:
        min_size: minimum width and height, in pixels.
        min_area: minimum area, in square pixels.
        labels_getter: a function that returns the labels of a sample, or a tuple of tensors to filter like labels.
            `"default"`: the labels are the second element of a tuple, or the first value of a dict whose key contains
            "label". None: the sample has no labels.

    Raises:
        ValueError: from calls, if the sample has no boxes, or the labels are not found.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 3], [4, 1, 4, 3]], format="XYXY", canvas_size=(4, 10))
        >>> sample = v2.SanitizeBoundingBoxes()({"boxes": boxes, "labels": torch.tensor([7, 8])})
        >>> sample["boxes"].tolist(), sample["labels"]
        ([[2, 1, 5, 3]], tensor([7]))
    """

    def __init__(self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: Callable | str | None = "default") -> None:
        super().__init__()
        self.min_size = min_size
        self.min_area = min_area
        self.labels_getter = labels_getter

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = get_labels(sample, self.labels_getter)
        boxes = next((leaf for leaf in get_leaves(sample) if isinstance(leaf, _BOXES)), None)
        if boxes is None:
            raise ValueError("No bounding boxes were found in the sample")
        _, valid = F.sanitize_bounding_boxes(boxes, min_size=self.min_size, min_area=self.min_area)

        def keep_valid(leaf: Any) -> Any:
            per_box = isinstance(leaf, tv_tensors.Mask) and leaf.ndim == 3 and len(leaf) == len(valid)
            belongs = isinstance(leaf, _BOXES) or per_box or any(leaf is label for label in labels)
            return keep_type(leaf, F.to_pure_tensor(leaf)[valid]) if belongs else leaf

        return map_sample(keep_valid, sample)


class SanitizeKeyPoints(Transform):
    """Remove points outside of the canvas together with their labels. A group with such a point is removed as a whole.

    Args:
        labels_getter: a function that returns the labels of a sample, or a tuple of tensors to filter like labels.
            `"default"`: the labels are the second element of a tuple, or the first value of a dict whose key contains
            "label". None: the sample has no labels.

    Raises:
        ValueError: from calls, if the sample has no points, or the labels are not found or have another length.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> points = tv_tensors.KeyPoints([[2, 1], [12, 3]], canvas_size=(4, 10))
        >>> v2.SanitizeKeyPoints()({"points": points})["points"].tolist()
        [[2, 1]]
    """

    def __init__(self, labels_getter: Callable | str | None = None) -> None:
        super().__init__()
        self.labels_getter = labels_getter

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = get_labels(sample, self.labels_getter)
        points = next((leaf for leaf in get_leaves(sample) if isinstance(leaf, tv_tensors.KeyPoints)), None)
        if points is None:
            raise ValueError("No keypoints were found in the sample")
        for label in labels:
            if len(label) != len(points):
                raise ValueError(f"Number of keypoints ({len(points)}) must match the number of labels ({len(label)})")
        _, valid = F.sanitize_keypoints(points)

        def keep_valid(leaf: Any) -> Any:
            belongs = isinstance(leaf, tv_tensors.KeyPoints) or any(leaf is label for label in labels)
            return keep_type(leaf, F.to_pure_tensor(leaf)[valid]) if belongs else leaf

        return map_sample(keep_valid, sample)
