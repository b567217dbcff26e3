"""Photographs of scenes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import download_and_extract_archive
from .vision import VisionDataset

__all__ = ["SUN397"]


class SUN397(VisionDataset):
    """[SUN397](https://vision.princeton.edu/projects/2010/SUN/): photographs of 397 kinds of scenes.

    Args:
        root: the folder that holds `SUN397`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` where it is missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "SUN397/a/abbey")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "sun_1.jpg")
        ...     _ = Path(root, "SUN397/ClassName.txt").write_text("/a/abbey\\n")
        ...     scenes = datasets.SUN397(root)
        ...     scenes.classes, scenes[0][0].size, scenes[0][1]
        (['abbey'], (6, 4), 0)
    """

    _URL = "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz"
    _MD5 = "8ca2778205c41d23104230ba66911c7a"

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._ensure_files(download)
        lines = (self._images / "ClassName.txt").read_text().splitlines()
        self.classes = [line[3:].strip() for line in lines]  # after the folder of their first letter
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}
        self._samples = [
            (str(path), self.class_to_idx["/".join(path.relative_to(self._images).parts[1:-1])])
            for path in sorted(self._images.rglob("sun_*.jpg"))
        ]

    @property
    def _images(self) -> Path:
        return self._folder / "SUN397"

    def _check_exists(self) -> bool:
        return self._images.is_dir()

    def download(self) -> None:
        """Fetch and unpack the archive."""
        download_and_extract_archive(self._URL, self._folder, md5=self._MD5)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self._samples[index]
        return self._transformed(self.loader(path), target)
