"""What datasets of published files have in common: a dataset says where its files are, and how they are read."""

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

    A subclass says, in attributes or properties,

    - `_base`: the folder below `root` where its files are;
    - `_archives`: the address and the MD5 checksum (or None) of each archive that is unpacked there, and what to call it where
      the address does not say;
    - `_needed`: the files and folders that must be there,

    and calls `self._ensure_files(download)` before it reads them. `download` may be overridden for what is published otherwise.
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
        """Fetch and unpack the archives."""
        for url, md5, *name in self._archives:
            download_and_extract_archive(url, self._files, None, *name, md5=md5)


class ImageList(PublishedDataset):
    """A published dataset that is a list of image files, each with a target, in several splits.

    A subclass says in `_splits` what these are called, and gives in `_list_samples` the `(path, target)` pairs of `self._split`.

    Args:
        root: the folder that holds the files.
        split: one of `_splits`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        download: fetch the archives into `root` where they are missing.
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
        raise NotImplementedError(f"{type(self).__name__} has to say what its samples are")

    def _number_classes(self, names: Sequence[str]) -> None:
        self.classes = list(names)
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self._samples[index]
        return self._transformed(self.loader(path), target)
