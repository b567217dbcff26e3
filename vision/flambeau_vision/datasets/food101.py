"""Food-101: 101,000 photographs of food in 101 classes, one per dish."""

from __future__ import annotations

import json
from pathlib import Path

from .published import ImageList

__all__ = ["Food101"]


class Food101(ImageList):
    """[Food-101](https://data.vision.ee.ethz.ch/cvl/datasets_extra/food-101/): 101,000 photographs of 101 dishes.

    Bossard, Guillaumin and Van Gool, "Food-101: Mining Discriminative Components with Random Forests", 2014.

    Args:
        root: the folder that holds `food-101`.
        split: `train` or `test`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` if it is missing.
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

    _archives = (("http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz", "85eeb15f3717b99a5da872d97d918f87"),)
    _needed = ("food-101/meta", "food-101/images")

    def _list_samples(self) -> list[tuple[Path, int]]:
        folder = self._files / "food-101"
        names = json.loads((folder / "meta" / f"{self._split}.json").read_text())
        self._number_classes(sorted(names))
        return [(folder / "images" / f"{name}.jpg", self.class_to_idx[dish]) for dish in names for name in names[dish]]

    def extra_repr(self) -> str:
        return f"split={self._split}"
