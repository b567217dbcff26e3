"""SBU Captioned Photo: a million photographs from Flickr, each with a caption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

from .folder import default_loader
from .utils import check_integrity, download_and_extract_archive, download_url
from .vision import VisionDataset

__all__ = ["SBU"]


class SBU(VisionDataset):
    """[SBU captioned photographs](http://www.cs.virginia.edu/~vicente/sbucaptions/): a million images from Flickr.

    Ordonez, Kulkarni and Berg, "Im2Text: Describing Images Using 1 Million Captioned Photographs", 2011.

    Args:
        root: the folder that holds the archive.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (the caption).
        download: fetch the archive and the images into `root` if they are missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.SBU("data", download=False)
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    url = "https://www.cs.rice.edu/~vo9/sbucaptions/SBUCaptionedPhotoDataset.tar.gz"
    filename = "SBUCaptionedPhotoDataset.tar.gz"
    md5_checksum = "9aec147b3488753cf758b4d493422285"

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = True,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._ensure_files(download)
        lines = zip(self._lines("urls"), self._lines("captions"), strict=False)
        named = [(url.rpartition("/")[2], caption) for url, caption in lines]
        downloaded = [(name, caption) for name, caption in named if (self._photos / name).exists()]
        self.photos = [name for name, _ in downloaded]
        self.captions = [caption for _, caption in downloaded]

    @property
    def _photos(self) -> Path:
        return self._folder / "dataset"

    def _lines(self, kind: str) -> list[str]:
        file = self._photos / f"SBU_captioned_photo_dataset_{kind}.txt"
        return [line.rstrip() for line in file.read_text(encoding="utf-8").splitlines()]

    def _check_exists(self) -> bool:
        return check_integrity(self._folder / self.filename, self.md5_checksum) and self._photos.is_dir()

    def download(self) -> None:
        """Download the archive, and the photographs that are still online."""
        download_and_extract_archive(self.url, self._folder, filename=self.filename, md5=self.md5_checksum)
        for url in self._lines("urls"):
            try:
                download_url(url, self._photos)
            except (URLError, OSError):
                continue  # many photographs have been deleted from Flickr

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(self.loader(str(self._photos / self.photos[index])), self.captions[index])
