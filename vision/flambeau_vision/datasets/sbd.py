"""Semantic Boundaries Dataset (SBD): 11,355 photographs of PASCAL VOC with masks or boundaries of 20 classes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._extras import optional, pillow
from .folder import pil_loader
from .published import PublishedDataset
from .utils import download_and_extract_archive, download_url, verify_str_arg

__all__ = ["SBDataset"]


class SBDataset(PublishedDataset):
    """[Semantic Boundaries](http://home.bharathh.info/pubs/codes/SBD/download.html): 11,355 images of PASCAL VOC with object
    boundaries and masks.

    Hariharan, Arbelaez, Bourdev, Maji and Malik, "Semantic Contours from Inverse Detectors", 2011. SciPy reads the annotations.

    Args:
        root: the folder that holds `img`, `cls`, `train.txt` and `val.txt`.
        image_set: `train`, `val`, or `train_noval`, which leaves out images of VOC 2012's validation set.
        mode: `boundaries` (a NumPy array of 0 and 1, of shape `(20, H, W)`: one plane per class) or `segmentation` (a PIL image).
        download: fetch the files into `root` if they are missing.
        transforms: a function of `(image, target)` that returns both.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `image_set` or `mode` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.SBDataset("data/sbd", image_set="val")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    url = "https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping/semantic_contours/benchmark.tgz"
    md5 = "82b4d87ceb2ed10f6038a1cba92111cb"
    filename = "benchmark.tgz"
    voc_train_url = "https://www.cs.cornell.edu/~bharathh/train_noval.txt"
    voc_split_filename = "train_noval.txt"
    voc_split_md5 = "79bff800c5f0b1ec6b21080a3c066722"
    num_classes = 20

    def __init__(
        self,
        root: str | Path,
        image_set: str = "train",
        mode: str = "boundaries",
        download: bool = False,
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms)
        self.image_set = verify_str_arg(image_set, "image_set", ("train", "val", "train_noval"))
        self.mode = verify_str_arg(mode, "mode", ("segmentation", "boundaries"))
        self._ensure_files(download)
        names = (self._folder / f"{image_set}.txt").read_text().split()
        self.images = [str(self._folder / "img" / f"{name}.jpg") for name in names]
        self.masks = [str(self._folder / "cls" / f"{name}.mat") for name in names]

    @property
    def _needed(self) -> list[str]:
        return ["img", "cls", f"{self.image_set}.txt"]

    def download(self) -> None:
        """Download and unpack the archive. For `train_noval`, also download the list of images outside VOC 2012's
        validation set.
        """
        download_and_extract_archive(self.url, self._folder, filename=self.filename, md5=self.md5)
        unpacked = self._folder / "benchmark_RELEASE"
        for name in ("train.txt", "val.txt", "inst", "cls", "img"):
            place = self._folder / name
            if not place.exists():  # if an earlier call was interrupted, it may have moved this one
                (unpacked / "dataset" / name).rename(place)
        shutil.rmtree(unpacked)
        if self.image_set == "train_noval":
            download_url(self.voc_train_url, self._folder, self.voc_split_filename, self.voc_split_md5)

    def _read_target(self, path: str) -> Any:
        import numpy as np

        stored = optional("scipy.io", "scipy", "reading the Semantic Boundaries").loadmat(path)["GTcls"][0]
        if self.mode == "segmentation":
            return pillow().fromarray(stored["Segmentation"][0])
        return np.stack([stored["Boundaries"][0][index][0].toarray() for index in range(self.num_classes)])

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(pil_loader(self.images[index]), self._read_target(self.masks[index]))

    def extra_repr(self) -> str:
        return f"Image set: {self.image_set}\nMode: {self.mode}"
