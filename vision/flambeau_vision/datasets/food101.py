"""Food."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["Food101"]


class Food101(VisionDataset):
    """[Food-101](https://data.vision.ee.ethz.ch/cvl/datasets_extra/food-101/): 101,000 photographs of 101 dishes.

    Bossard, Guillaumin and Van Gool, "Food-101: Mining Discriminative Components with Random Forests", 2014.

    Args:
        root: the folder that holds `food-101`.
        split: `train` or `test`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` where it is missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "food-101/images/waffles")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "2.jpg")
        ...     Path(root, "food-101/meta").mkdir()
        ...     _ = Path(root, "food-101/meta/test.json").write_text('{"waffles": ["waffles/2"]}')
        ...     food = datasets.Food101(root, split="test")
        ...     food.classes, food[0][0].size, food[0][1]
        (['waffles'], (6, 4), 0)
    """

    _URL = "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz"
    _MD5 = "85eeb15f3717b99a5da872d97d918f87"

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
        names = json.loads((self._files / "meta" / f"{split}.json").read_text())
        self.classes = sorted(names)
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}
        images = self._files / "images"
        self._samples = [(images / f"{name}.jpg", self.class_to_idx[dish]) for dish in names for name in names[dish]]

    @property
    def _files(self) -> Path:
        return self._folder / "food-101"

    def _check_exists(self) -> bool:
        return all((self._files / folder).is_dir() for folder in ("meta", "images"))

    def download(self) -> None:
        """Fetch and unpack the archive."""
        download_and_extract_archive(self._URL, self._folder, md5=self._MD5)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self._samples[index]
        return self._transformed(self.loader(path), label)

    def extra_repr(self) -> str:
        return f"split={self._split}"
