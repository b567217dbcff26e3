"""FakeData: random images with random targets, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch

from .vision import VisionDataset

__all__ = ["FakeData"]


class FakeData(VisionDataset):
    """Images of random pixels with random targets. Reading the same index again returns the same sample.

    Args:
        size: the number of samples.
        image_size: `(channels, height, width)`.
        num_classes: targets are integers from 0 to `num_classes - 1`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        random_offset: the seed of sample `i` is `random_offset + i`.

    Example:
        >>> from flambeau_vision.datasets import FakeData
        >>> image, target = FakeData(size=10, image_size=(3, 8, 16))[0]
        >>> image.size, 0 <= target < 10
        ((16, 8), True)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.image_size = image_size
        self.num_classes = num_classes
        self.random_offset = random_offset

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"{type(self).__name__} index out of range")
        from ..transforms.functional import to_pil_image

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(index + self.random_offset)
            image = torch.randn(*self.image_size)
            target = torch.randint(0, self.num_classes, size=(1,), dtype=torch.long)[0]
        return self._transformed(to_pil_image(image), target.item())
