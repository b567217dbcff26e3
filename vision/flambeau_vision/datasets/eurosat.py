"""Satellite images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import ImageFolder, default_loader
from .utils import download_and_extract_archive

__all__ = ["EuroSAT"]


class EuroSAT(ImageFolder):
    """[EuroSAT](https://github.com/phelber/eurosat): 27,000 satellite images of land in 10 kinds of use.

    Args:
        root: the folder that holds `eurosat`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` where it is missing.
        loader: a function that reads a file.
    """

    _URL = (
        "https://huggingface.co/datasets/torchgeo/eurosat/resolve/"
        "c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip"
    )
    _MD5 = "c8fa014336c82ac7804f0398fcb19387"

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        self._base = Path(root).expanduser() / "eurosat"
        self._ensure_files(download)
        super().__init__(self._base / "2750", transform, target_transform, loader)
        self.root = str(Path(root).expanduser())

    def _check_exists(self) -> bool:
        return (self._base / "2750").is_dir()

    def download(self) -> None:
        """Fetch and unpack the archive."""
        download_and_extract_archive(self._URL, self._base, md5=self._MD5)
