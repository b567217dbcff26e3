"""SEMEION: 1,593 handwritten digits of 16 x 16 black or white pixels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._extras import pillow
from .utils import check_integrity, download_url
from .vision import VisionDataset

__all__ = ["SEMEION"]


class SEMEION(VisionDataset):
    """[SEMEION](http://archive.ics.uci.edu/ml/datasets/semeion+handwritten+digit): 1,593 handwritten digits.

    The images have 16 x 16 pixels, each black or white. They were collected by the Semeion Research Center, Rome.

    Args:
        root: the folder that holds `semeion.data`.
        transform: a function of the image (a PIL image in mode `L`).
        target_transform: a function of the target (an integer).
        download: fetch the file into `root` if it is missing.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.SEMEION("data", download=False)
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    url = "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data"
    filename = "semeion.data"
    md5_checksum = "cb545d371d2ce14ec121470795a77432"

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._ensure_files(download)
        import numpy as np

        # Each line has 256 pixels followed by the one-hot encoded digit.
        stored = np.loadtxt(self._folder / self.filename, ndmin=2)
        self.data = (stored[:, :256] * 255).astype(np.uint8).reshape(-1, 16, 16)
        self.labels = stored[:, 256:266].argmax(axis=1)

    def _check_exists(self) -> bool:
        return check_integrity(self._folder / self.filename, self.md5_checksum)

    def download(self) -> None:
        """Download `semeion.data`, the file of all digits, to `root`."""
        download_url(self.url, self._folder, self.filename, self.md5_checksum)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(pillow().fromarray(self.data[index]), int(self.labels[index]))
