"""Pooling of regions of interest (RoIs), each from a level of a feature pyramid that matches the size of the region."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import nn

from .boxes import box_area
from .roi import roi_align

__all__ = ["MultiScaleRoIAlign"]

Tensor = torch.Tensor


class MultiScaleRoIAlign(nn.Module):
    """Apply `roi_align` to each box, on the level of a feature pyramid chosen by the size of the box.

    Boxes with a side of `canonical_scale` pixels use the level `canonical_level`. Boxes twice as large use the next level. Lin
    et al., [Feature Pyramid Networks for Object Detection](https://arxiv.org/abs/1612.03144), 2016.

    Args:
        featmap_names: the names of the levels to use, fine to coarse.
        output_size: the number of bins, `(height, width)` or an int for both.
        sampling_ratio: number of sampling points along each axis of a bin; if not positive, the size of the bin in pixels,
            rounded up.
        canonical_scale: side length in image pixels of boxes that use `canonical_level`.
        canonical_level: the level of these boxes, as the base-2 logarithm of its stride in image pixels.

    Shape:
        - Input: a dict of features `(N, C, H, W)` by name, a list of boxes `(L, 4)` for each image, and a list of the
          images' sizes `(height, width)`.
        - Output: `(K, C, *output_size)`, K being the number of boxes.

    Example:
        >>> from flambeau_vision.ops import MultiScaleRoIAlign
        >>> pooler = MultiScaleRoIAlign(["fine", "coarse"], output_size=2, sampling_ratio=2)
        >>> features = {"fine": torch.rand(1, 5, 16, 16), "coarse": torch.rand(1, 5, 8, 8)}
        >>> pooler(features, [torch.tensor([[0.0, 0.0, 20.0, 30.0]])], image_shapes=[(64, 64)]).shape
        torch.Size([1, 5, 2, 2])
    """

    def __init__(
        self,
        featmap_names: Sequence[str],
        output_size: int | Sequence[int],
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names = featmap_names
        self.output_size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
        self.sampling_ratio = sampling_ratio
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def _levels(self, boxes: Tensor, scales: list[float]) -> Tensor:
        """Return the index of the level that each box is pooled from."""
        side = box_area(boxes).sqrt()
        level = torch.floor(self.canonical_level + torch.log2(side / self.canonical_scale) + 1e-6)
        first, last = -math.log2(scales[0]), -math.log2(scales[-1])
        return (level.clamp(min=first, max=last) - first).long()

    def forward(self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]) -> Tensor:
        """Pool regions from a dict of features; `boxes` and `image_shapes` have one entry per image."""
        features = [x[name] for name in x if name in self.featmap_names]
        height = max(shape[0] for shape in image_shapes)
        scales = [2.0 ** round(math.log2(feature.shape[-2] / height)) for feature in features]
        indices = [torch.full_like(image_boxes[:, :1], index) for index, image_boxes in enumerate(boxes)]
        regions = torch.cat([torch.cat(indices), torch.cat(boxes)], dim=1)
        if len(features) == 1:
            return roi_align(features[0], regions, self.output_size, scales[0], self.sampling_ratio)
        levels = self._levels(regions[:, 1:], scales)
        result = features[0].new_zeros(len(regions), features[0].shape[1], *self.output_size)
        for level, (feature, scale) in enumerate(zip(features, scales, strict=True)):
            indices = torch.where(levels == level)[0]
            pooled = roi_align(feature, regions[indices], self.output_size, scale, self.sampling_ratio)
            result[indices] = pooled.to(result.dtype)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, "
            f"output_size={self.output_size}, sampling_ratio={self.sampling_ratio})"
        )
