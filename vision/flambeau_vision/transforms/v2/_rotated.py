"""Convert and clamp rotated boxes, given as four corners.

The coordinates `x` and `y` of the corners have shape `(N, 4)`; the corners are in order around the box.
"""

from __future__ import annotations

import math

import flambeau as torch

__all__ = ["boxes_to_corners", "clamp_corners", "corners_to_boxes", "rectangle_around"]

Tensor = torch.Tensor
Corners = tuple[Tensor, Tensor]


def boxes_to_corners(boxes: Tensor) -> Corners:
    """Return `x` and `y` of the corners of boxes in the format `XYXYXYXY`."""
    return boxes[..., 0::2], boxes[..., 1::2]


def corners_to_boxes(x: Tensor, y: Tensor) -> Tensor:
    """Return boxes in the format `XYXYXYXY` from the `x` and `y` of their corners."""
    return torch.stack([x, y], dim=-1).flatten(-2)


def rectangle_around(x: Tensor, y: Tensor) -> Corners:
    """Return for each parallelogram a rectangle with the same centre, parallel to the longer side of the parallelogram."""
    (x1, x2, x3, x4), (y1, y2, y3, y4) = x.unbind(-1), y.unbind(-1)
    centre_x, centre_y = (x1 + x3) / 2, (y1 + y3) / 2
    wide, high = ((x2 - x1) ** 2 + (y2 - y1) ** 2).sqrt(), ((x4 - x1) ** 2 + (y4 - y1) ** 2).sqrt()
    angle_wide, angle_high = torch.atan2(y1 - y2, x2 - x1), torch.atan2(y1 - y4, x4 - x1)
    between = angle_wide - angle_high
    cos, sin = between.cos() * torch.where(between > math.pi / 2, -1, 1), between.sin()
    width = torch.where(wide < high, wide * sin, wide + high * cos)
    height = torch.where(wide > high, high * sin, high + wide * cos)
    angle = torch.where(high > wide, angle_high + math.pi / 2, angle_wide)
    cos, sin = angle.cos(), angle.sin()
    along_x, along_y, across_x, across_y = width / 2 * cos, -width / 2 * sin, height / 2 * sin, height / 2 * cos
    signs = (-1, -1), (1, -1), (1, 1), (-1, 1)
    return (
        torch.stack([centre_x + a * along_x + b * across_x for a, b in signs], dim=-1),
        torch.stack([centre_y + a * along_y + b * across_y for a, b in signs], dim=-1),
    )


def clamp_corners(x: Tensor, y: Tensor, canvas_size: tuple[int, int], mode: str) -> Corners:
    """Clamp boxes to the canvas without changing their angle.

    The boxes are cut at the left border of the canvas. This is repeated after rotations of the canvas by 90 degrees, so that
    each border is once on the left.

    Args:
        x: the x coordinates of the corners, of shape `(N, 4)`.
        y: the y coordinates of the corners, of shape `(N, 4)`.
        canvas_size: `(height, width)`.
        mode: `"soft"` allows corners to stick out of the canvas, `"hard"` does not.
    """
    height, width = canvas_size
    before = x, y
    for _ in range(4):
        first = _leftmost(x, y)
        (x, y), before = _roll_corners(first, x, y), _roll_corners(first, *before)
        x, y = _cut_left(x, y, before, height, width, mode)
        (x, y), before = _roll_corners(first, x, y), _roll_corners(first, *before)
        (x, y), before = (y, width - x), (before[1], width - before[0])  # rotate by 90 degrees
        height, width = width, height
    return x, y


def _leftmost(x: Tensor, y: Tensor) -> Tensor:
    """Return the index of the leftmost corner of each box. If two corners are equally far left, it is the upper one."""
    intercept = y / y.abs().amax(1, keepdim=True) + x / x.abs().amax(1, keepdim=True) * 100
    return intercept.min(dim=1)[1]


def _roll_corners(first: Tensor, x: Tensor, y: Tensor) -> Corners:
    """Shift the order of the corners cyclically, so that corner `first` becomes the first."""
    order = (first[:, None] + torch.arange(4, device=x.device)) % 4
    return x.gather(1, order), y.gather(1, order)


def _lines(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the slope of the line from each corner to the next, and the y of this line at the left border (x = 0)."""
    slope = (y.roll(-1, 1) - y) / (x.roll(-1, 1) - x)
    return slope, y - slope * x


def _cut_left(x: Tensor, y: Tensor, before: Corners, height: int, width: int, mode: str) -> Corners:
    """Cut boxes at the left border (x = 0): shift the sides in parallel. The new corners are the intersections of the sides."""
    slope, intercept = _lines(x, y)
    intercept = _moved_sides(slope, intercept, _lines(*before)[1], height, width, mode)
    meet_x = -(intercept - intercept.roll(1, 1)) / (slope - slope.roll(1, 1))
    meet_y = slope * meet_x + intercept
    cut = (x[:, 0] < 0) & ~(meet_x.isnan() | meet_y.isnan()).any(1)
    level = y[:, 0].isclose(y[:, 1]) | y[:, 2].isclose(y[:, 3])
    outside = (x <= 0).all(1) | y[:, 0].isclose(y[:, 3]) | y[:, 1].isclose(y[:, 2])
    outside |= level & x[:, 0].isclose(x[:, 1])
    # The vertical sides of axis-aligned boxes have an infinite slope: clamp the two left corners instead.
    inside_x = torch.stack([x[:, 0].clamp(min=0), x[:, 1], x[:, 2], x[:, 3].clamp(min=0)], dim=1)
    cut, level, outside = cut[:, None], level[:, None], outside[:, None]
    new_x = torch.where(level, inside_x, torch.where(cut, meet_x, x))
    new_y = torch.where(level, y, torch.where(cut, meet_y, y))
    return torch.where(outside, 0.0, new_x), torch.where(outside, 0.0, new_y)


def _moved_sides(slope: Tensor, intercept: Tensor, before: Tensor, height: int, width: int, mode: str) -> Tensor:
    """Return the y at x = 0 of each side of a box after the sides are shifted to cut the box at the left border.

    `slope` and `intercept` are the lines of the sides, `before` are the intercepts of the original box, which limit the result.
    """
    a1, a2, a3, a4 = slope.unbind(1)
    b1, b2, b3, b4 = intercept.unbind(1)
    least1, least2, most3, most4 = before.unbind(1)
    top, bottom = b2.clamp(b1, b3).clamp(0, height), b3.clamp(b2, b4).clamp(0, height)
    if mode == "hard":  # the first corner moves onto the border
        top = bottom = (top + bottom) / 2
        lower = [top * a2 / a1, b3 * a2 / a3, (a1 - a2) * width + top, (a3 - a2) * width + b3]
        b2 = torch.minimum(torch.stack(lower).amax(0), b2)
        upper = [
            height * (1 - a3 / a4) + bottom * a3 / a4,
            height * (1 - a3 / a2) + b2 * a3 / a2,
            (a2 - a3) * width + b2,
            (a4 - a3) * width + bottom,
        ]
        b3 = torch.maximum(torch.stack(upper).amin(0), b3)
        top = bottom = top.clamp(least1, most3).clamp(least2, most4)
    else:
        top, bottom = top.clamp(least1, most3), bottom.clamp(least2, most4)
    return torch.stack([top, b2.clamp(least2, most4), b3.clamp(least1, most3), bottom], dim=1)
