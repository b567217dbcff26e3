"""Describable Textures Dataset (DTD): 5,640 photographs of textures in 47 classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .published import ImageList

__all__ = ["DTD"]


class DTD(ImageList):
    r"""[Describable Textures](https://www.robots.ox.ac.uk/~vgg/data/dtd/): 5,640 images in 47 classes.

    Cimpoi, Maji, Kokkinos, Mohamed and Vedaldi, [Describing Textures in the Wild](https://arxiv.org/abs/1311.3618), 2013.

    Args:
        root: the folder that holds `dtd`.
        split: `train`, `val` or `test`.
        partition: the images are split in ten ways; the number of one of them, 1 to 10.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` if it is missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` or `partition` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "dtd/dtd/images/banded")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "b.jpg")
        ...     Path(root, "dtd/dtd/labels").mkdir()
        ...     _ = Path(root, "dtd/dtd/labels/val1.txt").write_text("banded/b.jpg\n")
        ...     textures = datasets.DTD(root, split="val")
        ...     textures.classes, textures[0][0].size, textures[0][1]
        (['banded'], (6, 4), 0)
    """

    _splits = ("train", "val", "test")
    _base = "dtd"
    _archives = (("https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz", "fff73e5086ae6bdbea199a49dfb8a4c1"),)
    _needed = ("dtd",)

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        partition: int = 1,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[Path], Any] = default_loader,
    ) -> None:
        if not isinstance(partition, int) or not 1 <= partition <= 10:
            raise ValueError(
                f"Parameter 'partition' should be an integer with `1 <= partition <= 10`, but got {partition} instead"
            )
        self._partition = partition
        super().__init__(root, split, transform, target_transform, download, loader)

    def _list_samples(self) -> list[tuple[Path, int]]:
        folder = self._files / "dtd"
        names = (folder / "labels" / f"{self._split}{self._partition}.txt").read_text().split()
        self._number_classes(sorted({name.partition("/")[0] for name in names}))
        return [(folder / "images" / name, self.class_to_idx[name.partition("/")[0]]) for name in names]

    def extra_repr(self) -> str:
        return f"split={self._split}, partition={self._partition}"
