"""Textures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["DTD"]


class DTD(VisionDataset):
    r"""[Describable Textures](https://www.robots.ox.ac.uk/~vgg/data/dtd/): 5,640 images in 47 classes.

    Cimpoi, Maji, Kokkinos, Mohamed and Vedaldi, [Describing Textures in the Wild](https://arxiv.org/abs/1311.3618), 2013.

    Args:
        root: the folder that holds `dtd`.
        split: `train`, `val` or `test`.
        partition: which of the ten partitions into splits, 1 to 10.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` where it is missing.
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

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz"
    _MD5 = "fff73e5086ae6bdbea199a49dfb8a4c1"

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
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        if not isinstance(partition, int) or not 1 <= partition <= 10:
            raise ValueError(
                f"Parameter 'partition' should be an integer with `1 <= partition <= 10`, but got {partition} instead"
            )
        self._partition = partition
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._ensure_files(download)
        names = (self._files / "labels" / f"{split}{partition}.txt").read_text().split()
        self.classes = sorted({name.partition("/")[0] for name in names})
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}
        images = self._files / "images"
        self._samples = [(images / name, self.class_to_idx[name.partition("/")[0]]) for name in names]

    @property
    def _files(self) -> Path:
        return self._folder / "dtd" / "dtd"

    def _check_exists(self) -> bool:
        return self._files.is_dir()

    def download(self) -> None:
        """Fetch and unpack the archive."""
        download_and_extract_archive(self._URL, self._files.parent, md5=self._MD5)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self._samples[index]
        return self._transformed(self.loader(path), label)

    def extra_repr(self) -> str:
        return f"split={self._split}, partition={self._partition}"
