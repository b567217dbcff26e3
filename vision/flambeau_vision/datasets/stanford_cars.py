"""Cars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._extras import optional
from .folder import default_loader
from .utils import verify_str_arg
from .vision import VisionDataset

__all__ = ["StanfordCars"]


class StanfordCars(VisionDataset):
    """[Stanford Cars](https://www.kaggle.com/datasets/jessicali9530/stanford-cars-dataset): 16,185 images of 196 models.

    SciPy reads the annotations. The files are no longer published at their first address: they have to be fetched by hand.

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
        ValueError: `split` is unknown, or `download` asked for.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.StanfordCars("data", split="test")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[Path], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self.loader = loader
        self._ensure_files(download)
        annotations = self._table(self._annotations)["annotations"]
        images = self._files / f"cars_{split}"
        self._samples = [(str(images / row["fname"]), int(row["class"]) - 1) for row in annotations]
        self.classes = self._table(self._files / "devkit" / "cars_meta.mat")["class_names"].tolist()
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    @property
    def _files(self) -> Path:
        return self._folder / "stanford_cars"

    @property
    def _annotations(self) -> Path:
        if self._split == "train":
            return self._files / "devkit" / "cars_train_annos.mat"
        return self._files / "cars_test_annos_withlabels.mat"

    @staticmethod
    def _table(path: Path) -> Any:
        return optional("scipy.io", "scipy", "reading Stanford Cars").loadmat(str(path), squeeze_me=True)

    def _check_exists(self) -> bool:
        files = (self._files / "devkit" / "cars_meta.mat", self._annotations)
        return all(file.is_file() for file in files) and (self._files / f"cars_{self._split}").is_dir()

    def download(self) -> None:
        """Raise an error: the files have to be fetched by hand."""
        raise ValueError(
            "The original URL of Stanford Cars is broken. Get the files from "
            f"https://www.kaggle.com/datasets/jessicali9530/stanford-cars-dataset and put them into {self._files}."
        )

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self._samples[index]
        return self._transformed(self.loader(path), label)
