"""Masks of boxes, predicted as small squares of M x M pixels: the loss, and the conversion to masks of the image."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
import flambeau.nn.functional as F

from ...ops.roi import roi_align

__all__ = ["maskrcnn_inference", "maskrcnn_loss", "paste_masks_in_image"]

Tensor = torch.Tensor


def maskrcnn_loss(
    logits: Tensor, regions: list[Tensor], masks: list[Tensor], labels: list[Tensor], objects: list[Tensor]
) -> Tensor:
    """Compute the binary cross-entropy of the predicted masks.

    Args:
        logits: a square mask for each region and class, `(regions, classes, M, M)`.
        regions: region boxes of each image.
        masks: masks of the objects of each image, `(objects, H, W)`.
        labels: classes of the objects of each image.
        objects: index of the matched object of each region, for each image.
    """
    side = logits.shape[-1]
    wanted = []
    for image_regions, image_masks, shown in zip(regions, masks, objects, strict=True):
        boxes = torch.cat([shown.to(image_regions)[:, None], image_regions], dim=1)
        wanted.append(roi_align(image_masks[:, None].to(boxes), boxes, (side, side), 1.0)[:, 0])
    targets = torch.cat(wanted)
    if targets.numel() == 0:
        return logits.sum() * 0
    classes = torch.cat([image_labels[shown] for image_labels, shown in zip(labels, objects, strict=True)])
    indices = torch.arange(len(classes), device=classes.device)
    return F.binary_cross_entropy_with_logits(logits[indices, classes], targets)


def maskrcnn_inference(logits: Tensor, labels: list[Tensor]) -> list[Tensor]:
    """Return for each image the masks of the predicted classes, of shape `(detections, 1, M, M)`, with values from 0 to 1."""
    classes = torch.cat(labels)
    probabilities = logits.sigmoid()[torch.arange(len(logits), device=logits.device), classes][:, None]
    return list(probabilities.split([len(image_labels) for image_labels in labels]))


def _paste(mask: Tensor, box: Sequence[int], height: int, width: int) -> Tensor:
    """Resize a mask to a box and paste it into an empty image. The last row and column belong to the box."""
    left, top, right, bottom = box
    size = (max(bottom - top + 1, 1), max(right - left + 1, 1))
    scaled = F.interpolate(mask[None, None], size=size, mode="bilinear", align_corners=False)[0, 0]
    image = mask.new_zeros(height, width)
    first_row, end_row = max(top, 0), min(bottom + 1, height)
    first_column, end_column = max(left, 0), min(right + 1, width)
    if first_row < end_row and first_column < end_column:
        inside = scaled[first_row - top : end_row - top, first_column - left : end_column - left]
        image[first_row:end_row, first_column:end_column] = inside
    return image


def paste_masks_in_image(masks: Tensor, boxes: Tensor, image_size: Sequence[int], padding: int = 1) -> Tensor:
    """Convert masks of boxes to masks of the image, which are 0 outside of the boxes.

    Args:
        masks: `(detections, 1, M, M)`.
        boxes: `(detections, 4)`.
        image_size: height and width of the image.
        padding: number of zero pixels added on each side of the masks, for smooth borders. The boxes are enlarged in proportion.

    Returns:
        a tensor `(detections, 1, height, width)`.
    """
    side = masks.shape[-1]
    masks = F.pad(masks, (padding,) * 4)
    centers, halves = (boxes[:, 2:] + boxes[:, :2]) * 0.5, (boxes[:, 2:] - boxes[:, :2]) * 0.5
    halves = halves * ((side + 2 * padding) / side)
    widened = torch.cat([centers - halves, centers + halves], dim=1).to(torch.int64).tolist()
    height, width = image_size
    images = [_paste(mask[0], box, height, width) for mask, box in zip(masks, widened, strict=True)]
    return torch.stack(images)[:, None] if images else masks.new_empty((0, 1, height, width))
