"""Resize and batch images with their targets, and map detections back to the original image sizes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ._keypoints import resize_keypoints
from ._masks import paste_masks_in_image
from .image_list import ImageList

__all__ = ["GeneralizedRCNNTransform", "ImageList", "resize_boxes"]

Tensor = torch.Tensor
Size = tuple[int, int]


def resize_boxes(boxes: Tensor, original_size: Sequence[int], new_size: Sequence[int]) -> Tensor:
    """Scale the boxes of an image that was resized from `original_size` to `new_size`, both `(height, width)`."""
    scale_y, scale_x = (new / old for new, old in zip(new_size, original_size, strict=True))
    return boxes * torch.tensor([scale_x, scale_y, scale_x, scale_y], dtype=boxes.dtype, device=boxes.device)


class GeneralizedRCNNTransform(nn.Module):
    """Normalize and resize images, and pad them to one batch.

    Args:
        min_size: length of the shorter side of a resized image. If it is a list, a random element is used in training, and
            the last element in evaluation.
        max_size: largest length of the longer side of a resized image.
        image_mean: mean of each channel.
        image_std: standard deviation of each channel.
        size_divisible: the batch is padded so that its height and width are multiples of this number.
        fixed_size: `(width, height)` of all resized images. It replaces `min_size` and `max_size`, and changes aspect ratios.
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int,
        image_mean: Sequence[float],
        image_std: Sequence[float],
        size_divisible: int = 32,
        fixed_size: Size | None = None,
    ) -> None:
        super().__init__()
        self.min_size = (min_size,) if isinstance(min_size, int) else tuple(min_size)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size

    def normalize(self, image: Tensor) -> Tensor:
        """Return `(image - image_mean) / image_std` for a floating-point image."""
        if not image.is_floating_point():
            raise TypeError(
                f"Expected input images to be of floating type (in range [0, 1]), but found type {image.dtype} instead"
            )
        mean, std = (image.new_tensor(values)[:, None, None] for values in (self.image_mean, self.image_std))
        return (image - mean) / std

    def _new_size(self, height: int, width: int) -> Size:
        if self.fixed_size is not None:
            return self.fixed_size[1], self.fixed_size[0]
        shorter_side = self.min_size[-1]
        if self.training:
            shorter_side = self.min_size[int(torch.empty(1).uniform_(0.0, float(len(self.min_size))).item())]
        scale = min(shorter_side / min(height, width), self.max_size / max(height, width))
        return math.floor(height * scale), math.floor(width * scale)

    def resize(self, image: Tensor, target: dict[str, Tensor] | None) -> tuple[Tensor, dict[str, Tensor] | None]:
        """Resize an image and its boxes, masks and keypoints."""
        old_size = image.shape[-2:]
        new_size = self._new_size(*old_size)
        image = F.interpolate(image[None], size=new_size, mode="bilinear", align_corners=False)[0]
        if target is not None:
            target = {**target, "boxes": resize_boxes(target["boxes"], old_size, new_size)}
            if "masks" in target:
                target["masks"] = F.interpolate(target["masks"][:, None].float(), size=new_size)[:, 0].byte()
            if "keypoints" in target:
                target["keypoints"] = resize_keypoints(target["keypoints"], old_size, new_size)
        return image, target

    def batch_images(self, images: list[Tensor]) -> Tensor:
        """Pad images with zeros to the same size and stack them."""
        unit = self.size_divisible
        height, width = (math.ceil(max(image.shape[axis] for image in images) / unit) * unit for axis in (-2, -1))
        return torch.stack([F.pad(image, (0, width - image.shape[-1], 0, height - image.shape[-2])) for image in images])

    def forward(
        self, images: list[Tensor], targets: list[dict[str, Tensor]] | None = None
    ) -> tuple[ImageList, list[dict[str, Tensor]] | None]:
        """Normalize and resize the images, and return them as one batch together with the resized targets."""
        for image in images:
            if image.ndim != 3:
                raise ValueError(f"images is expected to be a list of 3d tensors of shape [C, H, W], got {tuple(image.shape)}")
        pairs = zip(images, targets if targets is not None else [None] * len(images), strict=True)
        resized = [self.resize(self.normalize(image), target) for image, target in pairs]
        sizes = [tuple(image.shape[-2:]) for image, _ in resized]
        batch = ImageList(self.batch_images([image for image, _ in resized]), sizes)
        return batch, None if targets is None else [target for _, target in resized]

    def postprocess(
        self, result: list[dict[str, Tensor]], image_shapes: list[Size], original_image_sizes: list[Size]
    ) -> list[dict[str, Tensor]]:
        """Scale the detected boxes, masks and keypoints to the original image sizes; in training, return `result` unchanged."""
        if self.training:
            return result
        processed = []
        for detections, image_shape, original_size in zip(result, image_shapes, original_image_sizes, strict=True):
            boxes = resize_boxes(detections["boxes"], image_shape, original_size)
            scaled = {**detections, "boxes": boxes}
            if "masks" in detections:
                scaled["masks"] = paste_masks_in_image(detections["masks"], boxes, original_size)
            if "keypoints" in detections:
                scaled["keypoints"] = resize_keypoints(detections["keypoints"], image_shape, original_size)
            processed.append(scaled)
        return processed

    def extra_repr(self) -> str:
        return (
            f"Normalize(mean={self.image_mean}, std={self.image_std}), "
            f"Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')"
        )


def losses_or_detections(model: nn.Module, losses: dict[str, Tensor], detections: list[dict[str, Tensor]]) -> Any:
    """Return the losses in training and the detections in evaluation.

    Scripted models return both, since a scripted function can have only one return type.
    """
    if torch.jit.is_scripting():
        warnings.warn("a scripted detector always returns a (Losses, Detections) tuple in scripting", stacklevel=2)
        return losses, detections
    return losses if model.training else detections


def check_targets(targets: Any) -> None:
    """Raise an error unless each target has boxes of shape `(N, 4)` with positive height and width."""
    if targets is None:
        raise ValueError("targets should not be none when in training mode")
    for index, target in enumerate(targets):
        boxes = target["boxes"]
        if not isinstance(boxes, torch.Tensor):
            raise TypeError(f"Expected target boxes to be of type Tensor, got {type(boxes)}.")
        if boxes.ndim != 2 or boxes.shape[-1] != 4:
            raise ValueError(f"Expected target boxes to be a tensor of shape [N, 4], got {tuple(boxes.shape)}.")
        if (boxes[:, 2:] <= boxes[:, :2]).any():
            bad = boxes[(boxes[:, 2:] <= boxes[:, :2]).any(dim=1)][0].tolist()
            raise ValueError(
                f"All bounding boxes should have positive height and width. Found invalid box {bad} for target at index {index}."
            )
