"""Box deltas, matching of anchors with ground-truth boxes, sampling of anchors for the losses, and channels of backbones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import nn

__all__ = ["BELOW", "BETWEEN", "BoxCoder", "Matcher", "SSDMatcher", "retrieve_out_channels", "sample_balanced"]

Tensor = torch.Tensor

# Results of a matcher for an anchor without an object: it is background (BELOW) or ignored (BETWEEN).
BELOW, BETWEEN = -1, -2

_MAX_LOG_GROWTH = math.log(1000.0 / 16)  # limit of log(box size / anchor size), so that exp does not overflow


def _centres_and_sides(boxes: Tensor) -> tuple[Tensor, Tensor]:
    sides = boxes[..., 2:] - boxes[..., :2]
    return boxes[..., :2] + 0.5 * sides, sides


class BoxCoder:
    """Encode boxes as deltas from anchors: centre shift / anchor size, and log(box size / anchor size).

    Args:
        weights: weights by which the four deltas are multiplied.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights = weights

    def _factors(self, like: Tensor) -> tuple[Tensor, Tensor]:
        factors = torch.tensor(self.weights, dtype=like.dtype, device=like.device)
        return factors[:2], factors[2:]

    def encode(self, boxes: Tensor, anchors: Tensor) -> Tensor:
        """Compute the deltas from anchors to boxes, all of shape `(..., 4)`."""
        (centre, side), (anchor_centre, anchor_side) = _centres_and_sides(boxes), _centres_and_sides(anchors)
        move, grow = self._factors(boxes)
        shifts = move * (centre - anchor_centre) / anchor_side
        return torch.cat([shifts, grow * torch.log(side / anchor_side)], dim=-1)

    def decode(self, deltas: Tensor, anchors: Tensor) -> Tensor:
        """Compute the boxes from deltas and anchors. This is the inverse of `encode`."""
        anchor_centre, anchor_side = _centres_and_sides(anchors.to(deltas.dtype))
        move, grow = self._factors(deltas)
        centre = deltas[..., :2] / move * anchor_side + anchor_centre
        side = torch.exp((deltas[..., 2:] / grow).clamp(max=_MAX_LOG_GROWTH)) * anchor_side
        return torch.cat([centre - 0.5 * side, centre + 0.5 * side], dim=-1)


class Matcher:
    """Match each anchor with the object of highest IoU, if the IoU is large enough.

    Args:
        high: minimum IoU of a match.
        low: anchors with a lower IoU are background; anchors between `low` and `high` are ignored.
        every_object: also match each object with its anchors of highest IoU, whatever the IoU.
    """

    def __init__(self, high: float, low: float, every_object: bool = False) -> None:
        self.high = high
        self.low = low
        self.every_object = every_object

    def __call__(self, overlaps: Tensor) -> Tensor:
        """Return for each anchor the index of its object, `BELOW` or `BETWEEN`, given IoUs of shape `(objects, anchors)`."""
        if overlaps.shape[0] == 0:
            return torch.full(overlaps.shape[1:], BELOW, dtype=torch.int64, device=overlaps.device)
        best, nearest = overlaps.max(dim=0)
        matches = torch.where(best < self.low, torch.full_like(nearest, BELOW), nearest)
        matches = torch.where((best >= self.low) & (best < self.high), torch.full_like(nearest, BETWEEN), matches)
        if self.every_object:
            is_best = (overlaps == overlaps.amax(dim=1, keepdim=True)).any(dim=0)
            matches = torch.where(is_best, nearest, matches)
        return matches


class SSDMatcher(Matcher):
    """Matcher of SSD: each object is also matched with the anchor of highest IoU, however low this is."""

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold)

    def __call__(self, overlaps: Tensor) -> Tensor:
        matches = super().__call__(overlaps)
        if overlaps.shape[0] > 0:
            best = overlaps.argmax(dim=1)
            matches[best] = torch.arange(overlaps.shape[0], dtype=torch.int64, device=overlaps.device)
        return matches


def sample_balanced(labels: Tensor, count: int, positive_share: float) -> tuple[Tensor, Tensor]:
    """Sample up to `count` anchors for the losses: at most `count * positive_share` objects (label >= 1), else background (0).

    Returns:
        The indices of object anchors and of background anchors.
    """
    positive, negative = torch.where(labels >= 1)[0], torch.where(labels == 0)[0]
    positives = min(len(positive), int(count * positive_share))
    negatives = min(len(negative), count - positives)
    return (
        positive[torch.randperm(len(positive), device=labels.device)[:positives]],
        negative[torch.randperm(len(negative), device=labels.device)[:negatives]],
    )


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """Return the channels of a backbone's outputs: its attribute `out_channels`, or found by a run on zeros of `(width, height)`.

    Example:
        >>> from flambeau_vision.models.detection import ssdlite320_mobilenet_v3_large
        >>> from flambeau_vision.models.detection._utils import retrieve_out_channels
        >>> retrieve_out_channels(ssdlite320_mobilenet_v3_large(weights_backbone=None).backbone, (320, 320))
        [672, 480, 512, 256, 256, 128]
    """
    if hasattr(model, "out_channels"):
        return list(model.out_channels)
    training = model.training
    with torch.no_grad():
        features = model.eval()(torch.zeros(1, 3, size[1], size[0]))
    model.train(training)
    return [feature.shape[1] for feature in features.values()]
