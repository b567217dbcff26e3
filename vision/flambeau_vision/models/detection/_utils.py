"""Box deltas, matching of anchors with ground-truth boxes, sampling of anchors for the losses, and channels of backbones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import nn

__all__ = ["BELOW", "BETWEEN", "BoxCoder", "Matcher", "SSDMatcher", "draw_balanced", "retrieve_out_channels"]

Tensor = torch.Tensor

# What a matcher returns for an anchor that overlaps no object enough.
BELOW, BETWEEN = -1, -2

_LARGEST_GROWTH = math.log(1000.0 / 16)  # of a box relative to its anchor, so that exp does not overflow


def _centres_and_sides(boxes: Tensor) -> tuple[Tensor, Tensor]:
    sides = boxes[..., 2:] - boxes[..., :2]
    return boxes[..., :2] + 0.5 * sides, sides


class BoxCoder:
    """Encodes boxes as deltas from anchors: the centre's shift relative to the anchor's size, and the log of the growth.

    Args:
        weights: factors of the four deltas.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights = weights

    def _factors(self, like: Tensor) -> tuple[Tensor, Tensor]:
        factors = torch.tensor(self.weights, dtype=like.dtype, device=like.device)
        return factors[:2], factors[2:]

    def encode(self, boxes: Tensor, anchors: Tensor) -> Tensor:
        """The deltas from anchors to boxes, all of shape `(..., 4)`."""
        (centre, side), (anchor_centre, anchor_side) = _centres_and_sides(boxes), _centres_and_sides(anchors)
        move, grow = self._factors(boxes)
        shifts = move * (centre - anchor_centre) / anchor_side
        return torch.cat([shifts, grow * torch.log(side / anchor_side)], dim=-1)

    def decode(self, deltas: Tensor, anchors: Tensor) -> Tensor:
        """The boxes given by deltas from anchors: the inverse of `encode`."""
        anchor_centre, anchor_side = _centres_and_sides(anchors.to(deltas.dtype))
        move, grow = self._factors(deltas)
        centre = deltas[..., :2] / move * anchor_side + anchor_centre
        side = torch.exp((deltas[..., 2:] / grow).clamp(max=_LARGEST_GROWTH)) * anchor_side
        return torch.cat([centre - 0.5 * side, centre + 0.5 * side], dim=-1)


class Matcher:
    """Assigns to each anchor the object that it overlaps most, if it overlaps it enough.

    Args:
        high: the least IoU at which an anchor is assigned to the object.
        low: the IoU below which it is background; in between it is ignored.
        every_object: also assign to each object the anchors that overlap it most, however little.
    """

    def __init__(self, high: float, low: float, every_object: bool = False) -> None:
        self.high = high
        self.low = low
        self.every_object = every_object

    def __call__(self, overlaps: Tensor) -> Tensor:
        """For IoUs of shape `(objects, anchors)`, the index of each anchor's object, `BELOW` or `BETWEEN`."""
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
    """Each box belongs to the object that it overlaps enough, and each object has the box that overlaps it most."""

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold)

    def __call__(self, overlaps: Tensor) -> Tensor:
        matches = super().__call__(overlaps)
        if overlaps.shape[0] > 0:
            best = overlaps.argmax(dim=1)
            matches[best] = torch.arange(overlaps.shape[0], dtype=torch.int64, device=overlaps.device)
        return matches


def draw_balanced(labels: Tensor, count: int, positive_share: float) -> tuple[Tensor, Tensor]:
    """Sample `count` anchors for the losses: at most `positive_share` of them objects (labels from 1), the others background (0).

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


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """The channels of the features of a backbone for images of `(width, height)`: what it says, or by running it on zeros.

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
