"""Keypoints of boxes, predicted as one heatmap each: the loss, and the conversion to image positions."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
import flambeau.nn.functional as F

__all__ = ["heatmaps_to_keypoints", "keypointrcnn_inference", "keypointrcnn_loss", "resize_keypoints"]

Tensor = torch.Tensor


def resize_keypoints(keypoints: Tensor, original_size: Sequence[int], new_size: Sequence[int]) -> Tensor:
    """Scale keypoints `(x, y, visible)` to an image resized from `original_size` to `new_size`, both `(height, width)`."""
    scale_y, scale_x = (new / old for new, old in zip(new_size, original_size, strict=True))
    return keypoints * torch.tensor([scale_x, scale_y, 1.0], dtype=keypoints.dtype, device=keypoints.device)


def _heatmap_indices(keypoints: Tensor, regions: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Return the index of each keypoint in the flattened heatmap of its region, and whether it is visible and in the region."""
    corner, end = regions[:, None, :2], regions[:, None, 2:]
    positions = keypoints[..., :2]
    cells = ((positions - corner) * (side / (end - corner))).floor().long()
    cells = torch.where(positions == end, torch.full_like(cells, side - 1), cells)
    valid = ((cells >= 0) & (cells < side)).all(dim=-1) & (keypoints[..., 2] > 0)
    return (cells[..., 1] * side + cells[..., 0]) * valid, valid


def keypointrcnn_loss(logits: Tensor, regions: list[Tensor], keypoints: list[Tensor], objects: list[Tensor]) -> Tensor:
    """Compute the cross-entropy between heatmaps and the positions of visible keypoints.

    Args:
        logits: a square heatmap for each region and keypoint, `(regions, K, M, M)`.
        regions: region boxes of each image.
        keypoints: keypoints of the objects of each image, `(objects, K, 3)`: x, y and visibility.
        objects: index of the matched object of each region, for each image.

    Raises:
        ValueError: the heatmaps are not square.
    """
    count, kinds, height, width = logits.shape
    if height != width:
        raise ValueError(f"keypoint_logits height and width should be equal. Instead got H = {height} and W = {width}")
    parts = zip(keypoints, objects, regions, strict=True)
    found = [_heatmap_indices(of_objects[shown], image_regions, height) for of_objects, shown, image_regions in parts]
    cells, valid = (torch.cat([part[index].flatten() for part in found]) for index in (0, 1))
    if not valid.any():
        return logits.sum() * 0
    return F.cross_entropy(logits.reshape(count * kinds, height * width)[valid], cells[valid])


def heatmaps_to_keypoints(heatmaps: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each keypoint the position with the highest score in its heatmap, and this score.

    Args:
        heatmaps: a heatmap of scores for each box and keypoint, `(N, K, M, M)`.
        boxes: `(N, 4)`.

    Returns:
        `(N, K, 3)`: x, y and 1, in pixels of the image; and the scores `(N, K)`.
    """
    positions, scores = heatmaps.new_ones(*heatmaps.shape[:2], 3), heatmaps.new_zeros(heatmaps.shape[:2])
    sides = (boxes[:, 2:] - boxes[:, :2]).clamp(min=1)
    for index, (heatmap, side, box) in enumerate(zip(heatmaps, sides, boxes, strict=True)):
        width, height = (int(length) for length in side.ceil().tolist())
        scaled = F.interpolate(heatmap[:, None], size=(height, width), mode="bicubic", align_corners=False)
        scores[index], cells = scaled.flatten(1).max(dim=1)
        cell = torch.stack([cells % width, cells // width], dim=1)
        positions[index, :, :2] = (cell + 0.5) * (side / side.ceil()) + box[:2]
    return positions, scores


def keypointrcnn_inference(heatmaps: Tensor, boxes: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Split heatmaps by image, apply `heatmaps_to_keypoints`, and return lists of positions and scores."""
    parts = zip(heatmaps.split([len(part) for part in boxes]), boxes, strict=True)
    positions, scores = zip(*(heatmaps_to_keypoints(maps, image_boxes) for maps, image_boxes in parts), strict=True)
    return list(positions), list(scores)
