"""Photographs of aircraft."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["FGVCAircraft"]

_CLASSES = {"variant": "variants.txt", "family": "families.txt", "manufacturer": "manufacturers.txt"}


class FGVCAircraft(VisionDataset):
    """[FGVC Aircraft](https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/): photographs of aircraft.

    Args:
        root: the folder that holds `fgvc-aircraft-2013b`.
        split: `train`, `val`, `trainval` or `test`.
        annotation_level: what the classes are: `variant`, `family` or `manufacturer`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` where it is missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` or `annotation_level` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "fgvc-aircraft-2013b/data/images")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "0001.jpg")
        ...     _ = (folder.parent / "families.txt").write_text("A320\\nBoeing 737\\n")
        ...     _ = (folder.parent / "images_family_trainval.txt").write_text("0001 Boeing 737\\n")
        ...     aircraft = datasets.FGVCAircraft(root, annotation_level="family")
        ...     aircraft.classes, aircraft[0][0].size, aircraft[0][1]
        (['A320', 'Boeing 737'], (6, 4), 1)
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz"

    def __init__(
        self,
        root: str | Path,
        split: str = "trainval",
        annotation_level: str = "variant",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        verify_str_arg(split, "split", ("train", "val", "trainval", "test"))
        verify_str_arg(annotation_level, "annotation_level", _CLASSES)
        self.loader = loader
        self._ensure_files(download)
        data = self._folder / "fgvc-aircraft-2013b" / "data"
        self.classes = [line.strip() for line in (data / _CLASSES[annotation_level]).read_text().splitlines()]
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}
        self._samples = []
        for line in (data / f"images_{annotation_level}_{split}.txt").read_text().splitlines():
            image, name = line.strip().split(" ", 1)
            self._samples.append((str(data / "images" / f"{image}.jpg"), self.class_to_idx[name]))

    def _check_exists(self) -> bool:
        return (self._folder / "fgvc-aircraft-2013b").is_dir()

    def download(self) -> None:
        """Fetch and unpack the archive."""
        download_and_extract_archive(self._URL, self._folder)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self._samples[index]
        return self._transformed(self.loader(path), target)
