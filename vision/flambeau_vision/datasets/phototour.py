"""Photo Tour: grey image patches of 64 x 64 pixels, and pairs that show the same point or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import flambeau as torch

from .._extras import pillow
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["PhotoTour"]


class PhotoTour(VisionDataset):
    """[Photo Tour](http://phototour.cs.washington.edu/patches/default.htm): patches of 64 x 64 pixels, with pairs that show
    the same point.

    Winder and Brown, "Learning Local Image Descriptors", 2007.

    Args:
        root: the folder that holds one folder per name.
        name: `notredame`, `yosemite` or `liberty`, or one of these with `_harris`.
        train: if True, samples are patches; otherwise tuples `(patch1, patch2, match)`.
        transform: a function of a patch (a `uint8` tensor of shape `(64, 64)`).
        download: fetch the archive into `root` if it is missing.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `name` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.PhotoTour("data", name="liberty")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    urls: ClassVar[dict[str, list[str]]] = {
        "notredame_harris": [
            "http://matthewalunbrown.com/patchdata/notredame_harris.zip",
            "notredame_harris.zip",
            "69f8c90f78e171349abdf0307afefe4d",
        ],
        "yosemite_harris": [
            "http://matthewalunbrown.com/patchdata/yosemite_harris.zip",
            "yosemite_harris.zip",
            "a73253d1c6fbd3ba2613c45065c00d46",
        ],
        "liberty_harris": [
            "http://matthewalunbrown.com/patchdata/liberty_harris.zip",
            "liberty_harris.zip",
            "c731fcfb3abb4091110d0ae8c7ba182c",
        ],
        "notredame": [
            "http://icvl.ee.ic.ac.uk/vbalnt/notredame.zip",
            "notredame.zip",
            "509eda8535847b8c0a90bbb210c83484",
        ],
        "yosemite": [
            "http://icvl.ee.ic.ac.uk/vbalnt/yosemite.zip",
            "yosemite.zip",
            "533b2e8eb7ede31be40abc317b2fd4f0",
        ],
        "liberty": [
            "http://icvl.ee.ic.ac.uk/vbalnt/liberty.zip",
            "liberty.zip",
            "fdd9152f138ea5ef2091746689176414",
        ],
    }
    means: ClassVar[dict[str, float]] = {"notredame": 0.4854, "yosemite": 0.4844, "liberty": 0.4437}
    stds: ClassVar[dict[str, float]] = {"notredame": 0.1864, "yosemite": 0.1818, "liberty": 0.2019}

    def __init__(
        self,
        root: str | Path,
        name: str,
        train: bool = True,
        transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform)
        self.name = verify_str_arg(name, "name", self.urls)
        self.train = train
        place = name.removesuffix("_harris")
        self.mean, self.std = self.means[place], self.stds[place]
        self._ensure_files(download)
        self.labels = torch.tensor([int(row[0]) for row in self._table("info.txt")])
        self.data = self._read_patches(len(self.labels))
        pairs = self._table("m50_100000_100000_0.txt")
        self.matches = torch.tensor([[int(row[0]), int(row[3]), int(row[1] == row[4])] for row in pairs])

    @property
    def _files(self) -> Path:
        return self._folder / self.name

    def _table(self, file: str) -> list[list[str]]:
        return [line.split() for line in (self._files / file).read_text().splitlines()]

    def _read_patches(self, count: int) -> torch.Tensor:
        """Cut the patches from sheets of 16 x 16 patches. The last sheet is only partly filled."""
        import numpy as np

        sheets = [np.asarray(pillow().open(path).convert("L")) for path in sorted(self._files.glob("*.bmp"))]
        patches = [sheet.reshape(16, 64, 16, 64).swapaxes(1, 2).reshape(-1, 64, 64) for sheet in sheets]
        return torch.from_numpy(np.concatenate(patches)[:count])

    def _check_exists(self) -> bool:
        return (self._files / "info.txt").is_file()

    def download(self) -> None:
        """Download the archive of the tour, unpack it, and delete the archive."""
        url, file, md5 = self.urls[self.name]
        download_and_extract_archive(url, self._folder, self._files, file, md5, remove_finished=True)

    def __len__(self) -> int:
        return len(self.data if self.train else self.matches)

    def __getitem__(self, index: int) -> Any:
        if self.train:
            return self._apply(self.data[index])
        first, second, match = self.matches[index]
        return self._apply(self.data[first]), self._apply(self.data[second]), match

    def _apply(self, patch: torch.Tensor) -> Any:
        return patch if self.transform is None else self.transform(patch)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"
