"""Batches of images of different sizes."""

from __future__ import annotations

from dataclasses import dataclass

import flambeau as torch

__all__ = ["ImageList"]

Tensor = torch.Tensor
Size = tuple[int, int]


@dataclass
class ImageList:
    """A batch of images padded to the same size, with their sizes before padding."""

    tensors: Tensor
    image_sizes: list[Size]

    def to(self, device: torch.device) -> ImageList:
        """Return the batch on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
