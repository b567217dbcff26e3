"""USPS: 9,298 handwritten digits of 16 x 16 grey pixels."""

from __future__ import annotations

import bz2
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .._extras import pillow
from .utils import check_integrity, download_url
from .vision import VisionDataset

__all__ = ["USPS"]


class USPS(VisionDataset):
    """[USPS](https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html#usps): 9,298 handwritten digits of
    16 x 16 grey pixels.

    Hull, "A Database for Handwritten Text Recognition Research", 1994.

    Args:
        root: the folder that holds `usps.bz2` and `usps.t.bz2`.
        train: use the 7,291 training images if True, otherwise the 2,007 test images.
        transform: a function of the image (a PIL image in mode `L`).
        target_transform: a function of the target (an integer).
        download: fetch the file into `root` if it is missing.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.USPS("data", train=False)
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    split_list: ClassVar[dict[str, list[str]]] = {
        "train": [
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.bz2",
            "usps.bz2",
            "ec16c51db3855ca6c91edd34d0e9b197",
        ],
        "test": [
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.t.bz2",
            "usps.t.bz2",
            "8ea070ee2aca1ac39742fdd1ef5ed118",
        ],
    }

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        self.url, self.filename, self.md5 = self.split_list["train" if train else "test"]
        self._ensure_files(download)
        self.data, self.targets = self._load()

    def _load(self) -> tuple[Any, list[int]]:
        import numpy as np

        # A line is "label 1:value 2:value ...": the label is the digit + 1, the values are pixels from -1 to 1.
        with bz2.open(self._folder / self.filename, "rt") as file:
            rows = [line.split() for line in file]
        values = np.array([[item.partition(":")[2] for item in row[1:]] for row in rows], dtype=np.float32)
        images = ((values.reshape(-1, 16, 16) + 1) / 2 * 255).astype(np.uint8)
        return images, [int(row[0]) - 1 for row in rows]

    def _check_exists(self) -> bool:
        return check_integrity(self._folder / self.filename, self.md5)

    def download(self) -> None:
        """Download the `.bz2` file of the training or the test images to `root`."""
        download_url(self.url, self._folder, self.filename, self.md5)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(pillow().fromarray(self.data[index]), self.targets[index])
