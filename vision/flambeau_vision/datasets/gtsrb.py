"""German Traffic Sign Recognition Benchmark (GTSRB): photographs of traffic signs in 43 classes."""

from __future__ import annotations

import csv
from pathlib import Path

from .folder import make_dataset
from .published import ImageList

__all__ = ["GTSRB"]

_SITE = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
_ARCHIVES = {
    "train": [("GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478")],
    "test": [
        ("GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185"),
        ("GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5"),
    ],
}


class GTSRB(ImageList):
    """[GTSRB](https://benchmark.ini.rub.de/): photographs of German traffic signs in 43 classes.

    Stallkamp, Schlipsing, Salmen and Igel, "The German Traffic Sign Recognition Benchmark", 2011.

    Args:
        root: the folder that holds `gtsrb`.
        split: `train` or `test`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archives into `root` if they are missing.
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
        ...     (folder := Path(root, "gtsrb/GTSRB/Training/00000")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "a.ppm")
        ...     signs = datasets.GTSRB(root)
        ...     len(signs), signs[0][0].size, signs[0][1]
        (1, (6, 4), 0)
    """

    _splits = _ARCHIVES
    _base = "gtsrb"

    @property
    def _archives(self) -> list[tuple[str, str]]:
        return [(_SITE + name, md5) for name, md5 in _ARCHIVES[self._split]]

    @property
    def _images(self) -> Path:
        return self._files / "GTSRB" / ("Training" if self._split == "train" else "Final_Test/Images")

    def _check_exists(self) -> bool:
        return self._images.is_dir()

    def _list_samples(self) -> list[tuple[str, int]]:
        if self._split == "train":
            return make_dataset(str(self._images), extensions=(".ppm",))
        with open(self._files / "GT-final_test.csv", encoding="utf-8") as file:
            rows = csv.DictReader(file, delimiter=";", skipinitialspace=True)
            return [(str(self._images / row["Filename"]), int(row["ClassId"])) for row in rows]
