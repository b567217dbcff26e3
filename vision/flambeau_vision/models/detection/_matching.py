"""Anchors and boxes of objects: differences between them, which belongs to which, and which to learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch

__all__ = ["BELOW", "BETWEEN", "BoxCoder", "Matcher", "draw_balanced"]

Tensor = torch.Tensor

# What a matcher says of an anchor that overlaps no object enough.
BELOW, BETWEEN = -1, -2

_LARGEST_GROWTH = math.log(1000.0 / 16)  # in one step, so that nothing overflows


def _centres_and_sides(boxes: Tensor) -> tuple[Tensor, Tensor]:
    sides = boxes[..., 2:] - boxes[..., :2]
    return boxes[..., :2] + 0.5 * sides, sides


class BoxCoder:
    """Boxes as differences from others: shifts of the centre relative to the size, and logarithms of growth.

    Args:
        weights: factors of the four differences.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights = weights

    def _factors(self, like: Tensor) -> tuple[Tensor, Tensor]:
        factors = torch.tensor(self.weights, dtype=like.dtype, device=like.device)
        return factors[:2], factors[2:]

    def encode(self, boxes: Tensor, anchors: Tensor) -> Tensor:
        """The differences that lead from anchors to boxes, both of shape `(..., 4)`."""
        (centre, side), (anchor_centre, anchor_side) = _centres_and_sides(boxes), _centres_and_sides(anchors)
        move, grow = self._factors(boxes)
        shifts = move * (centre - anchor_centre) / anchor_side
        return torch.cat([shifts, grow * torch.log(side / anchor_side)], dim=-1)

    def decode(self, differences: Tensor, anchors: Tensor) -> Tensor:
        """The boxes to which the differences lead from anchors."""
        anchor_centre, anchor_side = _centres_and_sides(anchors.to(differences.dtype))
        move, grow = self._factors(differences)
        centre = differences[..., :2] / move * anchor_side + anchor_centre
        side = torch.exp((differences[..., 2:] / grow).clamp(max=_LARGEST_GROWTH)) * anchor_side
        return torch.cat([centre - 0.5 * side, centre + 0.5 * side], dim=-1)


class Matcher:
    """For each anchor the object that it overlaps most, if it overlaps it enough.

    Args:
        high: overlap from which an anchor belongs to the object.
        low: overlap below which it belongs to none; in between it is neither.
        every_object: give each object the anchors that overlap it most, however little.
    """

    def __init__(self, high: float, low: float, every_object: bool = False) -> None:
        self.high = high
        self.low = low
        self.every_object = every_object

    def __call__(self, overlaps: Tensor) -> Tensor:
        """From overlaps of shape `(objects, anchors)` to the index of an object, `BELOW` or `BETWEEN`."""
        if overlaps.shape[0] == 0:
            return torch.full(overlaps.shape[1:], BELOW, dtype=torch.int64, device=overlaps.device)
        best, nearest = overlaps.max(dim=0)
        matches = torch.where(best < self.low, torch.full_like(nearest, BELOW), nearest)
        matches = torch.where((best >= self.low) & (best < self.high), torch.full_like(nearest, BETWEEN), matches)
        if self.every_object:
            most = (overlaps == overlaps.amax(dim=1, keepdim=True)).any(dim=0)
            matches = torch.where(most, nearest, matches)
        return matches


def draw_balanced(labels: Tensor, count: int, positive_share: float) -> tuple[Tensor, Tensor]:
    """Draw `count` anchors to learn from: objects (label 1 and more), at most a share of them, and background (0).

    Returns:
        The indices of both.
    """
    positive, negative = torch.where(labels >= 1)[0], torch.where(labels == 0)[0]
    positives = min(len(positive), int(count * positive_share))
    negatives = min(len(negative), count - positives)
    return (
        positive[torch.randperm(len(positive), device=labels.device)[:positives]],
        negative[torch.randperm(len(negative), device=labels.device)[:negatives]],
    )
