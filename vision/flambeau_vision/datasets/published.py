"""Base classes of datasets whose files are downloaded from the site of their authors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["ImageList", "PublishedDataset"]


class PublishedDataset(VisionDataset):
    """A dataset whose files are published in archives.

    Subclasses define, as attributes or properties:

    - `_base`: the folder below `root` that holds the files of the dataset;
    - `_archives`: for each archive its URL, its MD5 checksum (or None) and, if the URL does not contain it, its file name;
    - `_needed`: the files and folders below `_base` that must exist.

    Subclasses call `self._ensure_files(download)` before they read files. They override `download` if more is needed than
    unpacking the archives.
    """

    _base: str = ""
    _archives: Sequence[tuple[str, str | None] | tuple[str, str, str]] = ()
    _needed: Sequence[str] = ("",)

    @property
    def _files(self) -> Path:
        return self._folder / self._base

    def _check_exists(self) -> bool:
        return all((self._files / name).exists() for name in self._needed)

    def download(self) -> None:
        """Download the archives and unpack them into the folder of the dataset, without checking what exists."""
        for url, md5, *name in self._archives:
            download_and_extract_archive(url, self._files, None, *name, md5=md5)


class ImageList(PublishedDataset):
    """A published dataset of image files with one target each, in several splits.

    Subclasses define `_splits`, the names of the splits, and `_list_samples`, which returns the `(path, target)` pairs of
    `self._split`.

    Args:
        root: the folder that holds the files.
        split: one of `_splits`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        download: fetch the archives into `root` if they are missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` is unknown.
    """

    _splits: Collection[str] = ("train", "test")

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[Any], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", self._splits)
        self.loader = loader
        self._ensure_files(download)
        self._samples = self._list_samples()

    def _list_samples(self) -> list[tuple[Any, Any]]:
        raise NotImplementedError(f"{type(self).__name__} must implement _list_samples")

    def _number_classes(self, names: Sequence[str]) -> None:
        self.classes = list(names)
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self._samples[index]
        return self._transformed(self.loader(path), target)
