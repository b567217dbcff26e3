"""Stanford Cars: 16,185 photographs of 196 car models."""

from __future__ import annotations

from typing import Any

from .._extras import optional
from .published import ImageList

__all__ = ["StanfordCars"]


class StanfordCars(ImageList):
    """[Stanford Cars](https://www.kaggle.com/datasets/jessicali9530/stanford-cars-dataset): 16,185 images of 196 car models.

    SciPy reads the annotations. The files are no longer available at their original URL and must be downloaded manually.

    Krause, Stark, Deng and Fei-Fei, "3D Object Representations for Fine-Grained Categorization", 2013.

    Args:
        root: the folder that holds `stanford_cars`, with `devkit`, `cars_train`, `cars_test` and
            `cars_test_annos_withlabels.mat`.
        split: `train` or `test`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: not supported; True raises an error.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` is unknown, or `download` is True.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.StanfordCars("data", split="test")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    @property
    def _annotations(self) -> str:
        return "devkit/cars_train_annos.mat" if self._split == "train" else "cars_test_annos_withlabels.mat"

    _base = "stanford_cars"

    @property
    def _needed(self) -> list[str]:
        return ["devkit/cars_meta.mat", self._annotations, f"cars_{self._split}"]

    def _table(self, name: str) -> Any:
        return optional("scipy.io", "scipy", "reading Stanford Cars").loadmat(str(self._files / name), squeeze_me=True)

    def _list_samples(self) -> list[tuple[str, int]]:
        self._number_classes(self._table("devkit/cars_meta.mat")["class_names"].tolist())
        images = self._files / f"cars_{self._split}"
        rows = self._table(self._annotations)["annotations"]
        return [(str(images / row["fname"]), int(row["class"]) - 1) for row in rows]

    def download(self) -> None:
        """Raise an error, because the files must be downloaded manually."""
        raise ValueError(
            "The original URL of Stanford Cars is broken. Get the files from "
            f"https://www.kaggle.com/datasets/jessicali9530/stanford-cars-dataset and put them into {self._files}."
        )
