"""Generators of anchor boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import nn

from .image_list import ImageList

__all__ = ["AnchorGenerator", "DefaultBoxGenerator"]

Tensor = torch.Tensor


def _grid(height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the x and the y coordinates of all positions of a grid, row by row."""
    positions = torch.arange(height * width, device=device)
    return positions % width, positions // width


class AnchorGenerator(nn.Module):
    """Generate anchor boxes of several sizes and aspect ratios at each position of each feature map.

    Args:
        sizes: for each feature map, the square roots of the box areas.
        aspect_ratios: for each feature map, the ratios height / width.
    """

    def __init__(
        self,
        sizes: Sequence[Sequence[int]] = ((128, 256, 512),),
        aspect_ratios: Sequence[Sequence[float]] = ((0.5, 1.0, 2.0),),
    ) -> None:
        super().__init__()
        if not isinstance(sizes[0], Sequence):
            sizes = tuple((size,) for size in sizes)
        if not isinstance(aspect_ratios[0], Sequence):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        pairs = zip(sizes, aspect_ratios, strict=True)
        self.cell_anchors = [self.generate_anchors(size, ratio) for size, ratio in pairs]

    @staticmethod
    def generate_anchors(scales: Sequence[float], aspect_ratios: Sequence[float]) -> Tensor:
        """Return the boxes of one position, centred at the origin and rounded to integers."""
        boxes = []
        for ratio in aspect_ratios:
            for scale in scales:
                width, height = scale / math.sqrt(ratio), scale * math.sqrt(ratio)
                boxes.append([-width / 2, -height / 2, width / 2, height / 2])
        return torch.tensor(boxes, dtype=torch.float32).round()

    def num_anchors_per_location(self) -> list[int]:
        """Return for each feature map the number of boxes per position."""
        return [len(size) * len(ratio) for size, ratio in zip(self.sizes, self.aspect_ratios, strict=True)]

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        """Return for each image the boxes of all feature maps, one map after the other."""
        if len(feature_maps) != len(self.cell_anchors):
            raise ValueError(
                "Anchors should be Tuple[Tuple[int]] because each feature map could potentially have different sizes "
                f"and aspect ratios. There needs to be a match between the number of feature maps passed "
                f"({len(feature_maps)}) and the number of sizes / aspect ratios specified ({len(self.cell_anchors)})."
            )
        image_height, image_width = image_list.tensors.shape[-2:]
        parts = []
        for feature, cell in zip(feature_maps, self.cell_anchors, strict=True):
            height, width = feature.shape[-2:]
            x, y = _grid(height, width, feature.device)
            x, y = x * (image_width // width), y * (image_height // height)
            shifts = torch.stack([x, y, x, y], dim=1).to(feature.dtype)
            parts.append((shifts[:, None] + cell.to(shifts)[None]).reshape(-1, 4))
        return [torch.cat(parts)] * len(image_list.image_sizes)


class DefaultBoxGenerator(nn.Module):
    """Generate the default boxes of [SSD](https://arxiv.org/abs/1512.02325).

    Args:
        aspect_ratios: for each feature map, aspect ratios in addition to 1. The inverse of each ratio is also used.
        min_ratio: smallest scale, as a fraction of the image size, if `scales` is not given.
        max_ratio: largest scale, as a fraction of the image size, if `scales` is not given.
        scales: fractions of the image size, one per feature map and one more. Each map has boxes of its scale, and boxes of
            the geometric mean with the next scale.
        steps: image pixels per feature map pixel, for each map.
        clip: limit width and height of boxes to the image size.
    """

    def __init__(
        self,
        aspect_ratios: Sequence[Sequence[float]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: Sequence[float] | None = None,
        steps: Sequence[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        maps = len(aspect_ratios)
        if steps is not None and len(steps) != maps:
            raise ValueError("aspect_ratios and steps should have the same length")
        if scales is None:
            stride = (max_ratio - min_ratio) / max(maps - 1, 1)
            scales = [min_ratio + stride * index for index in range(maps)] + [1.0]
        self.aspect_ratios = aspect_ratios
        self.scales = scales
        self.steps = steps
        self.clip = clip
        self._sides = [self._sides_of(index) for index in range(maps)]

    def _sides_of(self, index: int) -> Tensor:
        """Return widths and heights of the boxes of a feature map, as fractions of the image size."""
        scale, between = self.scales[index], math.sqrt(self.scales[index] * self.scales[index + 1])
        sides = [[scale, scale], [between, between]]
        for ratio in self.aspect_ratios[index]:
            long, short = scale * math.sqrt(ratio), scale / math.sqrt(ratio)
            sides += [[long, short], [short, long]]
        result = torch.tensor(sides, dtype=torch.float32)
        return result.clamp(0, 1) if self.clip else result

    def num_anchors_per_location(self) -> list[int]:
        """Return for each feature map the number of boxes per position."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        """Return for each image the boxes of all feature maps, one map after the other."""
        image_height, image_width = image_list.tensors.shape[-2:]
        parts = []
        for index, feature in enumerate(feature_maps):
            height, width = feature.shape[-2:]
            step_y, step_x = image_height / height, image_width / width
            if self.steps is not None:
                step_y = step_x = self.steps[index]
            x, y = _grid(height, width, feature.device)
            centres = torch.stack([(x + 0.5) * step_x, (y + 0.5) * step_y], dim=1).to(feature.dtype)[:, None]
            size = torch.tensor([image_width, image_height], dtype=feature.dtype, device=feature.device)
            half = self._sides[index].to(feature)[None] * size / 2
            parts.append(torch.cat([centres - half, centres + half], dim=-1).reshape(-1, 4))
        return [torch.cat(parts)] * len(image_list.image_sizes)
