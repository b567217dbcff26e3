"""FER2013: 35,887 grey images of faces, 48 x 48 pixels, in 7 classes of expressions."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flambeau as torch

from .._extras import pillow
from .utils import check_integrity, verify_str_arg
from .vision import VisionDataset

__all__ = ["FER2013"]

_COMBINED = (("fer2013.csv", "f8428a1edbd21e88f42c73edd2a14f95"), ("icml_face_data.csv", "b114b9e04e6949e5fe8b6a98b3892b1d"))
_SINGLE = {
    "train": ("train.csv", "3f0dfb3d3fd99c811a1299cb947e3131"),
    "test": ("test.csv", "b02c2298636a634e8c2faabbf3ea9a23"),
}
_USAGES = {"train": ("Training",), "test": ("PublicTest", "PrivateTest")}
_PAGE = "https://www.kaggle.com/c/challenges-in-representation-learning-facial-expression-recognition-challenge"


class FER2013(VisionDataset):
    r"""[FER2013](https://www.kaggle.com/c/challenges-in-representation-learning-facial-expression-recognition-challenge): faces.

    35,887 grey images of 48 x 48 pixels in 7 classes. Goodfellow et al., [Challenges in Representation Learning: A report on
    three machine learning contests](https://arxiv.org/abs/1307.0414), 2013. The files must be downloaded manually.

    Args:
        root: the folder that holds `fer2013`, with `fer2013.csv`, `icml_face_data.csv`, or `train.csv` and `test.csv`.
        split: `train` or `test`.
        transform: a function of the image (a PIL image in mode `L`).
        target_transform: a function of the target (an integer from 0 to 6, or None for `test.csv`, which has no labels).

    Raises:
        RuntimeError: the file is missing, or its checksum is wrong.
        ValueError: `split` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.FER2013("data")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        RuntimeError: train.csv not found in data/fer2013 or corrupted. You can download it from https://www.kaggle.com/...
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", _SINGLE)
        folder = self._folder / "fer2013"
        name, md5 = next((file for file in _COMBINED if (folder / file[0]).exists()), _SINGLE[split])
        if not check_integrity(folder / name, md5):
            raise RuntimeError(f"{name} not found in {folder} or corrupted. You can download it from {_PAGE}")
        with open(folder / name, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
        if name != _SINGLE[split][0]:
            rows = [row for row in rows if row["Usage"] in _USAGES[split]]
        self._samples = [(self._pixels(row["pixels"]), int(row["emotion"]) if "emotion" in row else None) for row in rows]

    @staticmethod
    def _pixels(text: str) -> torch.Tensor:
        return torch.tensor([int(value) for value in text.split()], dtype=torch.uint8).reshape(48, 48)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        pixels, target = self._samples[index]
        return self._transformed(pillow().fromarray(pixels.numpy()), target)

    def extra_repr(self) -> str:
        return f"split={self._split}"
