"""IoU of rotated boxes, computed from the polygon where two boxes intersect."""

from __future__ import annotations

import flambeau as torch

__all__ = ["rotated_iou"]

Tensor = torch.Tensor

_TOLERANCE = 1e-5  # relative to the area of a box, so that points on its sides count as inside despite rounding


def _cross(first: Tensor, second: Tensor) -> Tensor:
    return first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]


def _sides(corners: Tensor) -> Tensor:
    return corners.roll(-1, -2) - corners


def _area(corners: Tensor) -> Tensor:
    """Return the signed area of polygons `(..., P, 2)`: positive if the corners are in clockwise order,
    with the y axis pointing down.
    """
    return _cross(corners, corners.roll(-1, -2)).sum(-1) / 2


def _inside(points: Tensor, corners: Tensor) -> Tensor:
    """Return whether each of the points `(..., P, 2)` is inside of a box, given by its corners `(..., 4, 2)`."""
    sides = _sides(corners)
    beyond = _cross(sides[..., None, :, :], points[..., :, None, :] - corners[..., None, :, :])
    area = _area(corners)[..., None, None]
    return (beyond * area.sign() >= -_TOLERANCE * area.abs()).all(-1)


def _crossings(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return where the sides of two boxes cross, as points `(..., 16, 2)`, and which of the 16 pairs of sides do cross."""
    from_first, along_first = first[..., :, None, :], _sides(first)[..., :, None, :]
    from_second, along_second = second[..., None, :, :], _sides(second)[..., None, :, :]
    between, across = from_second - from_first, _cross(along_first, along_second)
    parallel = across == 0
    across = torch.where(parallel, 1.0, across)
    share_first, share_second = _cross(between, along_second) / across, _cross(between, along_first) / across
    valid = ~parallel & (share_first >= 0) & (share_first <= 1) & (share_second >= 0) & (share_second <= 1)
    return (from_first + share_first[..., None] * along_first).flatten(-3, -2), valid.flatten(-2)


def _hull_area(points: Tensor, valid: Tensor) -> Tensor:
    """Return the area of the convex polygon whose corners are the points where `valid` is True, in any order."""
    count = valid.sum(-1, keepdim=True)
    centre = (points * valid[..., None]).sum(-2) / count.clamp(min=1)
    points = torch.where(valid[..., None], points - centre[..., None, :], 0.0)
    angle = torch.where(valid, torch.atan2(points[..., 1], points[..., 0]), float("inf"))
    angle, order = angle.sort(-1)
    points = points.gather(-2, order[..., None].expand_as(points))
    points = torch.where(angle.isinf()[..., None], points[..., :1, :], points)  # invalid points repeat the first corner
    return torch.where(count[..., 0] > 2, _area(points).abs(), 0.0)


def rotated_iou(first: Tensor, second: Tensor) -> Tensor:
    """Return the IoU `(N, M)` of all pairs of boxes, given as corners `(N, 8)` and `(M, 8)`."""
    first, second = first.reshape(-1, 1, 4, 2), second.reshape(1, -1, 4, 2)
    shape = (first.shape[0], second.shape[1], 4, 2)
    first, second = first.expand(shape), second.expand(shape)
    crossings, crossed = _crossings(first, second)
    points = torch.cat([first, second, crossings], dim=-2)
    both = _hull_area(points, torch.cat([_inside(first, second), _inside(second, first), crossed], dim=-1))
    return both / (_area(first).abs() + _area(second).abs() - both)
