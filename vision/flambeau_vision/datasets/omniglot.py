"""Omniglot: 32,460 drawings of 1,623 characters from 50 alphabets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .folder import open_image
from .utils import check_integrity, download_and_extract_archive
from .vision import VisionDataset

__all__ = ["Omniglot"]


class Omniglot(VisionDataset):
    """[Omniglot](https://github.com/brendenlake/omniglot): 1,623 characters, each drawn by 20 people.

    Lake, Salakhutdinov and Tenenbaum, "Human-level concept learning through probabilistic program induction", 2015.

    Args:
        root: the folder that holds `omniglot-py`.
        background: the 30 training alphabets if True, otherwise the 20 evaluation alphabets.
        transform: a function of the image (a PIL image in mode `L`).
        target_transform: a function of the target (the index of the character).
        download: fetch the archive into `root` if it is missing.
        loader: a function that reads a file; by default Pillow.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.Omniglot("data", background=False)
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    folder = "omniglot-py"
    download_url_prefix = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
    zips_md5: ClassVar[dict[str, str]] = {
        "images_background": "68d2efa1b9178cc56df9314c21c6e718",
        "images_evaluation": "6b91aef0f799c5bb55b94e3f2daec811",
    }

    def __init__(
        self,
        root: str | Path,
        background: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[Path], Any] | None = None,
    ) -> None:
        super().__init__(Path(root).expanduser() / self.folder, transform=transform, target_transform=target_transform)
        self.background = background
        self.loader = loader
        self._ensure_files(download)
        characters = sorted(path for path in self._images.glob("*/*") if path.is_dir())
        self._samples = [
            (image, index) for index, character in enumerate(characters) for image in sorted(character.glob("*.png"))
        ]

    @property
    def _name(self) -> str:
        return "images_background" if self.background else "images_evaluation"

    @property
    def _images(self) -> Path:
        return self._folder / self._name

    def _check_exists(self) -> bool:
        return check_integrity(self._folder / f"{self._name}.zip", self.zips_md5[self._name])

    def download(self) -> None:
        """Download the archive of the training or the evaluation alphabets and unpack it."""
        url = f"{self.download_url_prefix}/{self._name}.zip"
        download_and_extract_archive(url, self._folder, md5=self.zips_md5[self._name])

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, character = self._samples[index]
        image = open_image(path).convert("L") if self.loader is None else self.loader(path)
        return self._transformed(image, character)
