"""Kernels of boxes, points and masks: they apply the transforms of images to annotations of these images."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flambeau as torch

from ... import tv_tensors
from ...ops.boxes import box_convert
from .. import _tensor
from .._geometry import InterpolationMode, affine_matrix, rotated_size
from ..functional.registry import register_kernels
from ._rotated import boxes_to_corners, clamp_corners, corners_to_boxes, rectangle_around

__all__ = ["clamp_boxes", "clamp_points", "convert_boxes", "is_rotated"]

Tensor = torch.Tensor
Boxes = tv_tensors.BoundingBoxes

_NEAREST = InterpolationMode.NEAREST
_CENTRED = tv_tensors.BoundingBoxFormat.CXCYWHR


def _plain(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(Tensor)


def is_rotated(boxes: Boxes) -> bool:
    return tv_tensors.is_rotated_bounding_format(boxes.format)


def convert_boxes(boxes: Boxes, new_format: tv_tensors.BoundingBoxFormat | str) -> Boxes:
    """Convert boxes to another format.

    Raises:
        ValueError: one format is for rotated boxes and the other is not.
    """
    new_format = tv_tensors.BoundingBoxFormat[new_format.upper()] if isinstance(new_format, str) else new_format
    if is_rotated(boxes) != tv_tensors.is_rotated_bounding_format(new_format):
        raise ValueError("Cannot convert between rotated and unrotated bounding boxes.")
    old, new = boxes.format.value.lower(), new_format.value.lower()
    return tv_tensors.wrap(box_convert(_plain(boxes), old, new), like=boxes, format=new_format)


def _clamp_xyxy(xyxy: Tensor, canvas_size: tuple[int, int]) -> Tensor:
    height, width = canvas_size
    x, y = xyxy[:, 0::2].clamp(0, width), xyxy[:, 1::2].clamp(0, height)
    return torch.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], dim=1)


def clamp_boxes(boxes: Boxes) -> Boxes:
    """Clamp boxes to their canvas; if their clamping mode is None, return a copy."""
    if boxes.clamping_mode is None:
        return boxes.clone()
    if is_rotated(boxes):
        return _move_rotated(boxes, None, boxes.canvas_size)
    inside = _clamp_xyxy(box_convert(_plain(boxes), boxes.format.value.lower(), "xyxy"), boxes.canvas_size)
    return tv_tensors.wrap(box_convert(inside, "xyxy", boxes.format.value.lower()), like=boxes)


def _move(
    boxes: Boxes,
    move: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    canvas_size: tuple[int, int] | None = None,
    clamp: bool = True,
) -> Boxes:
    """Apply `move(x, y)` to the four corners of each box; the new box is the bounding box of the moved corners."""
    canvas_size = canvas_size or boxes.canvas_size
    if is_rotated(boxes):
        return _move_rotated(boxes, move, canvas_size)
    form = boxes.format.value.lower()
    xyxy = box_convert(_plain(boxes), form, "xyxy")
    corners = xyxy if xyxy.is_floating_point() else xyxy.float()
    x, y = move(corners[:, [0, 2, 0, 2]], corners[:, [1, 1, 3, 3]])
    moved = torch.stack([x.amin(1), y.amin(1), x.amax(1), y.amax(1)], dim=1) if len(xyxy) else corners
    if clamp and boxes.clamping_mode is not None:
        moved = _clamp_xyxy(moved, canvas_size)
    moved = box_convert(moved.to(xyxy.dtype), "xyxy", form)
    return tv_tensors.wrap(moved, like=boxes, canvas_size=canvas_size)


def _move_rotated(boxes: Boxes, move: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None, canvas_size: Any) -> Boxes:
    """Apply `move(x, y)` to the corners of rotated boxes, replace the results by rectangles, and clamp these to the canvas."""
    form = boxes.format.value.lower()
    corners = box_convert(_plain(boxes), form, "xyxyxyxy")
    if len(corners):
        x, y = boxes_to_corners(corners if corners.dtype == torch.float64 else corners.float())
        if move is not None:
            x, y = rectangle_around(*move(x, y))
        if boxes.clamping_mode is not None:
            x, y = clamp_corners(x, y, canvas_size, boxes.clamping_mode)
        corners = corners_to_boxes(x, y).to(corners.dtype)
    return tv_tensors.wrap(box_convert(corners, "xyxyxyxy", form), like=boxes, canvas_size=canvas_size)


def _flip_rotated(boxes: Boxes, across: bool) -> Boxes:
    """Flip rotated boxes, horizontally if `across` is True, otherwise vertically.

    Corners are swapped, so that the order of the corners around the box stays the same.
    """
    height, width = boxes.canvas_size
    plain = _plain(boxes)
    if boxes.format.value == "XYXYXYXY":
        x, y = boxes_to_corners(plain)
        x, y = (width - x, y) if across else (x, height - y)
        order = [1, 0, 3, 2]
        return tv_tensors.wrap(corners_to_boxes(x[:, order], y[:, order]), like=boxes)
    x, y, w, h, r = plain.unbind(1)
    if boxes.format.value == "XYWHR":  # after the flip, the first corner is the other end of the upper side
        x, y = x + w * torch.cos(r * math.pi / 180), y - w * torch.sin(r * math.pi / 180)
    x, y, r = (width - x, y, -r) if across else (x, height - y, 180 - r)
    return tv_tensors.wrap(torch.stack([x, y, w, h, r], dim=1), like=boxes)


def clamp_points(points: tv_tensors.KeyPoints) -> tv_tensors.KeyPoints:
    """Clamp points to their canvas: points outside of it move to the border."""
    height, width = points.canvas_size
    return _move_points(points, lambda x, y: (x.clamp(0, width - 1), y.clamp(0, height - 1)))


def _move_points(
    points: tv_tensors.KeyPoints,
    move: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    canvas_size: tuple[int, int] | None = None,
    clamp: bool = False,
) -> tv_tensors.KeyPoints:
    """Apply `move(x, y)` to points. Points that leave the canvas are not clamped."""
    plain = _plain(points)
    order = plain if plain.is_floating_point() else plain.float()
    moved = torch.stack(move(order[..., 0], order[..., 1]), dim=-1).to(plain.dtype)
    return tv_tensors.wrap(moved, like=points, canvas_size=canvas_size or points.canvas_size)


class _NoColourKernels:
    """Colour kernels of boxes, points and masks: they return their input unchanged."""

    def _unchanged(self, inpt: Tensor, *args: Any) -> Tensor:
        return inpt

    adjust_brightness = adjust_contrast = adjust_gamma = adjust_hue = adjust_saturation = _unchanged
    adjust_sharpness = autocontrast = equalize = gaussian_blur = invert = posterize = solarize = _unchanged
    erase = to_grayscale = _unchanged


class _BoxKernels(_NoColourKernels):
    move = staticmethod(_move)
    name = "bounding boxes"

    def get_dimensions(self, boxes: Boxes) -> list[int]:
        return [1, *boxes.canvas_size]

    def hflip(self, boxes: Boxes) -> Boxes:
        if is_rotated(boxes):
            return _flip_rotated(boxes, across=True)
        return self.move(boxes, lambda x, y: (boxes.canvas_size[1] - x, y), clamp=False)

    def vflip(self, boxes: Boxes) -> Boxes:
        if is_rotated(boxes):
            return _flip_rotated(boxes, across=False)
        return self.move(boxes, lambda x, y: (x, boxes.canvas_size[0] - y), clamp=False)

    def crop(self, boxes: Boxes, top: int, left: int, height: int, width: int) -> Boxes:
        return self.move(boxes, lambda x, y: (x - left, y - top), (height, width))

    def pad(self, boxes: Boxes, padding: tuple[int, int, int, int], fill: Any, padding_mode: str) -> Boxes:
        if padding_mode != "constant":
            raise ValueError(f"Padding mode '{padding_mode}' is not supported with {self.name}")
        left, top, right, bottom = padding
        height, width = boxes.canvas_size
        return self.move(boxes, lambda x, y: (x + left, y + top), (height + top + bottom, width + left + right))

    def resize(self, boxes: Boxes, size: tuple[int, int], interpolation: Any, antialias: Any) -> Boxes:
        scale_y, scale_x = (new / old for new, old in zip(size, boxes.canvas_size, strict=True))
        return self.move(boxes, lambda x, y: (x * scale_x, y * scale_y), size)

    def affine(
        self,
        boxes: Boxes,
        angle: float,
        translate: Any,
        scale: float,
        shear: Any,
        interpolation: Any,
        fill: Any,
        center: Any,
    ) -> Boxes:
        height, width = boxes.canvas_size
        a, b, c, d, e, f = affine_matrix(center or (width / 2, height / 2), angle, translate, scale, shear)
        return self.move(boxes, lambda x, y: (a * x + b * y + c, d * x + e * y + f))

    def rotate(self, boxes: Boxes, angle: float, interpolation: Any, expand: bool, center: Any, fill: Any) -> Boxes:
        height, width = boxes.canvas_size
        matrix = affine_matrix(center or (width / 2, height / 2), -angle, (0, 0), 1.0, (0, 0))
        size = rotated_size(height, width, matrix) if expand else (height, width)
        if expand and angle % 90 == 0 and center is None:
            size = (width, height) if angle % 180 else (height, width)
        a, b, c, d, e, f = matrix
        right = down = 0.0
        if expand:  # shift the rotated canvas so that its smallest x and y are 0
            right = -min(a * x + b * y + c for x in (0, width) for y in (0, height))
            down = -min(d * x + e * y + f for x in (0, width) for y in (0, height))
        return self.move(boxes, lambda x, y: (a * x + b * y + c + right, d * x + e * y + f + down), size)

    def perspective(self, boxes: Boxes, coefficients: list[float], interpolation: Any, fill: Any) -> Boxes:
        # The coefficients map output pixels to input pixels. Boxes need the inverse map.
        import numpy as np

        backward = np.reshape([*coefficients, 1.0], (3, 3))
        (a, b, c), (d, e, f), (g, h, i) = np.linalg.inv(backward).tolist()

        def move(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            below = g * x + h * y + i
            return (a * x + b * y + c) / below, (d * x + e * y + f) / below

        return self.move(boxes, move)

    def elastic_transform(self, boxes: Boxes, displacement: Tensor, interpolation: Any, fill: Any) -> Boxes:
        height, width = boxes.canvas_size
        displacement = displacement.to(boxes.device)

        def move(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            # The displacement maps output to input pixels. It is small and smooth, so subtracting it approximates the inverse.
            columns, rows = x.ceil().long().clamp(0, width - 1), y.ceil().long().clamp(0, height - 1)
            shift = displacement[0, rows, columns]
            return columns - shift[..., 0] * (width / 2), rows - shift[..., 1] * (height / 2)

        if isinstance(boxes, Boxes) and is_rotated(boxes):  # move the centre only; side lengths and angle stay the same
            x, y, w, h, r = _plain(convert_boxes(boxes, "CXCYWHR")).unbind(1)
            moved = torch.stack([*move(x, y), w, h, r], dim=1).to(boxes.dtype)
            return convert_boxes(clamp_boxes(tv_tensors.wrap(moved, like=boxes, format=_CENTRED)), boxes.format)
        return self.move(boxes, move)


class _PointKernels(_BoxKernels):
    """Kernels of points, which move like corners of boxes, except for flips.

    A flip maps x to `width - 1 - x`, since the coordinates of a point are pixel indices.
    """

    move = staticmethod(_move_points)
    name = "KeyPoints"

    def hflip(self, points: tv_tensors.KeyPoints) -> tv_tensors.KeyPoints:
        return _move_points(points, lambda x, y: (points.canvas_size[1] - 1 - x, y))

    def vflip(self, points: tv_tensors.KeyPoints) -> tv_tensors.KeyPoints:
        return _move_points(points, lambda x, y: (x, points.canvas_size[0] - 1 - y))

    def elastic_transform(self, points: Any, displacement: Tensor, interpolation: Any, fill: Any) -> Any:
        return super().elastic_transform(
            self.move(points, lambda x, y: (x.floor(), y.floor())), displacement, interpolation, fill
        )


class _MaskKernels(_NoColourKernels):
    """Kernels of masks: the kernels of images, but with nearest interpolation, since the values of masks are class indices."""

    get_dimensions = staticmethod(_tensor.get_dimensions)
    hflip = staticmethod(_tensor.hflip)
    vflip = staticmethod(_tensor.vflip)
    crop = staticmethod(_tensor.crop)
    pad = staticmethod(_tensor.pad)

    def resize(self, mask: Tensor, size: tuple[int, int], interpolation: Any, antialias: Any) -> Tensor:
        exact = InterpolationMode.NEAREST_EXACT
        return _tensor.resize(mask, size, exact if interpolation is exact else _NEAREST, None)

    def affine(
        self,
        mask: Tensor,
        angle: float,
        translate: Any,
        scale: float,
        shear: Any,
        interpolation: Any,
        fill: Any,
        center: Any,
    ) -> Tensor:
        return _tensor.affine(mask, angle, translate, scale, shear, _NEAREST, fill, center)

    def rotate(self, mask: Tensor, angle: float, interpolation: Any, expand: bool, center: Any, fill: Any) -> Tensor:
        return _tensor.rotate(mask, angle, _NEAREST, expand, center, fill)

    def perspective(self, mask: Tensor, coefficients: list[float], interpolation: Any, fill: Any) -> Tensor:
        return _tensor.perspective(mask, coefficients, _NEAREST, fill)

    def elastic_transform(self, mask: Tensor, displacement: Tensor, interpolation: Any, fill: Any) -> Tensor:
        return _tensor.elastic_transform(mask, displacement, _NEAREST, fill)


register_kernels(tv_tensors.BoundingBoxes, _BoxKernels())
register_kernels(tv_tensors.KeyPoints, _PointKernels())
register_kernels(tv_tensors.Mask, _MaskKernels())
