"""Country211: 63,300 photographs, labelled with the country, one of 211, where they were taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import ImageFolder, default_loader
from .utils import download_and_extract_archive, verify_str_arg

__all__ = ["Country211"]


class Country211(ImageFolder):
    """[Country211](https://github.com/openai/CLIP/blob/main/data/country211.md): 63,300 photographs from 211 countries.

    Args:
        root: the folder that holds `country211`.
        split: `train`, `valid` or `test`.
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
        ...     (folder := Path(root, "country211/train/FR")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "1.jpg")
        ...     photographs = datasets.Country211(root)
        ...     photographs.classes, photographs[0][0].size, photographs[0][1]
        (['FR'], (6, 4), 0)
    """

    _URL = "https://openaipublic.azureedge.net/clip/data/country211.tgz"
    _MD5 = "84988d7644798601126c29e9877aab6a"

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "valid", "test"))
        self._base = Path(root).expanduser() / "country211"
        self._ensure_files(download)
        super().__init__(self._base / split, transform, target_transform, loader)
        self.root = str(Path(root).expanduser())

    def _check_exists(self) -> bool:
        return self._base.is_dir()

    def download(self) -> None:
        """Download the archive of all splits and unpack it into `root`."""
        download_and_extract_archive(self._URL, self._base.parent, md5=self._MD5)
