"""Digits: 1,797 handwritten digits of 8 x 8 pixels, included in the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import flambeau as torch

from .._extras import pillow
from .vision import VisionDataset

__all__ = ["UCIDigits"]

_FILE = Path(__file__).with_name("uci_digits.npz")


class UCIDigits(VisionDataset):
    """1,797 handwritten digits of 8 x 8 pixels, shipped with the package: nothing is downloaded.

    Every fourth digit of the original order (the 4th, the 8th, ...) is held out for testing: 1,348 digits to train
    on, 449 to test with, all ten classes and all writers in both.

    Source: E. Alpaydin and C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI Machine Learning Repository,
    1998, https://doi.org/10.24432/C50P49, licence CC BY 4.0; its test file, as returned by scikit-learn's `load_digits`.
    Changed here: grey levels 0 to 16 are stretched to 0 to 255.

    Args:
        root: unused; accepted for consistency with the other datasets.
        train: use the 1,348 training digits if True, the 449 held-out digits otherwise.
        transform: a function of the image (a PIL image in mode `L`).
        target_transform: a function of the target (an integer from 0 to 9).

    Attributes:
        data: `uint8` tensor of shape `(N, 8, 8)`.
        targets: `int64` tensor of shape `(N,)`.
        classes: the ten names.

    Example:
        >>> from flambeau_vision.datasets import UCIDigits
        >>> digits = UCIDigits(train=False)
        >>> len(digits), digits.data.shape, digits.targets[:5].tolist()
        (449, torch.Size([449, 8, 8]), [3, 7, 1, 5, 9])
        >>> digits[0]  # doctest: +ELLIPSIS
        (<PIL.Image.Image image mode=L size=8x8 at ...>, 3)
    """

    classes: ClassVar[list[str]] = [
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    ]

    def __init__(
        self,
        root: str | Path | None = None,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        self.data, self.targets = self._load()

    def _load(self) -> tuple[Any, Any]:
        import numpy as np

        with np.load(_FILE, allow_pickle=False) as stored:
            images, targets = stored["images"], stored["targets"]
        held_out = np.arange(len(images)) % 4 == 3
        chosen = ~held_out if self.train else held_out
        stretched = np.rint(images[chosen] * (255 / 16)).astype(np.uint8)
        return torch.tensor(stretched), torch.tensor(targets[chosen].astype(np.int64))

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Dict from class name to target."""
        return {name: index for index, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = pillow().fromarray(self.data[index].numpy())
        return self._transformed(image, int(self.targets[index]))

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"
