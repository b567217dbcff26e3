"""A batch of images that had several sizes."""

from __future__ import annotations

from dataclasses import dataclass

import flambeau as torch

__all__ = ["ImageList"]

Tensor = torch.Tensor
Size = tuple[int, int]


@dataclass
class ImageList:
    """A batch of images, padded to one size, and the sizes before."""

    tensors: Tensor
    image_sizes: list[Size]

    def to(self, device: torch.device) -> ImageList:
        """The same on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
