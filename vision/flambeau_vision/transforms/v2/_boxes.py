"""Transforms of boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from ... import tv_tensors
from ...ops.boxes import box_iou
from . import functional as F
from ._samples import Transform, find_labels, keep_type, leaves_of, map_sample

__all__ = [
    "ClampBoundingBoxes",
    "ConvertBoundingBoxFormat",
    "RandomIoUCrop",
    "SanitizeBoundingBoxes",
]

_BOXES = tv_tensors.BoundingBoxes


class ClampBoundingBoxes(Transform):
    """Boxes cut off at the border of the canvas."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_bounding_boxes(inpt) if isinstance(inpt, _BOXES) else inpt


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another format."""

    def __init__(self, format: str | tv_tensors.BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return (
            F.convert_bounding_box_format(inpt, new_format=self.format) if isinstance(inpt, _BOXES) else inpt
        )


class RandomIoUCrop(Transform):
    """Cut out a random rectangle that overlaps some box enough: as for [SSD](https://arxiv.org/abs/1512.02325).

    Boxes whose centre is cut off become empty; follow with `SanitizeBoundingBoxes`.

    Args:
        min_scale: smallest side, as a share of the image.
        max_scale: largest side.
        min_aspect_ratio: smallest width divided by height.
        max_aspect_ratio: largest.
        sampler_options: overlaps to choose from; 1 or more means no crop.
        trials: tries before another overlap is drawn.
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

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        boxes = next((inpt for inpt in flat_inputs if isinstance(inpt, _BOXES)), None)
        if boxes is None:
            raise TypeError(f"{type(self).__name__}() requires input sample to contain bounding boxes")
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
    """Drop boxes that are too small or stick out of the canvas, and the labels and masks that belong to them.

    Args:
        min_size: the smallest width and height.
        min_area: the smallest area.
        labels_getter: a function from the sample to its labels (or a tuple of tensors to treat like labels); by default
            the value whose key contains "label" in a dict of the sample; None for no labels.
    """

    def __init__(
        self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: Callable | str | None = "default"
    ) -> None:
        super().__init__()
        self.min_size = min_size
        self.min_area = min_area
        self.labels_getter = labels_getter

    def _labels(self, sample: Any) -> tuple[Any, ...]:
        if self.labels_getter is None:
            return ()
        labels = self.labels_getter(sample) if callable(self.labels_getter) else find_labels(sample)
        return labels if isinstance(labels, tuple) else (labels,)

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = self._labels(sample)
        boxes = next((leaf for leaf in leaves_of(sample) if isinstance(leaf, _BOXES)), None)
        if boxes is None:
            return sample
        _, valid = F.sanitize_bounding_boxes(boxes, min_size=self.min_size, min_area=self.min_area)

        def keep_valid(leaf: Any) -> Any:
            per_box = isinstance(leaf, tv_tensors.Mask) and leaf.ndim == 3 and len(leaf) == len(valid)
            belongs = isinstance(leaf, _BOXES) or per_box or any(leaf is label for label in labels)
            return keep_type(leaf, F.to_pure_tensor(leaf)[valid]) if belongs else leaf

        return map_sample(keep_valid, sample)
