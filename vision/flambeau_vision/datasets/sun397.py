"""SUN397: 108,754 photographs of 397 kinds of scenes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .published import ImageList

__all__ = ["SUN397"]


class SUN397(ImageList):
    """[SUN397](https://vision.princeton.edu/projects/2010/SUN/): 108,754 photographs of 397 kinds of scenes.

    Args:
        root: the folder that holds `SUN397`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` if it is missing.
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

    _archives = (("http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz", "8ca2778205c41d23104230ba66911c7a"),)
    _needed = ("SUN397",)

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, "train", transform, target_transform, download, loader)  # the dataset has a single split

    def _list_samples(self) -> list[tuple[str, int]]:
        images = self._files / "SUN397"
        lines = (images / "ClassName.txt").read_text().splitlines()
        self._number_classes([line[3:].strip() for line in lines])  # "/a/abbey" -> "abbey"
        files = sorted(images.rglob("sun_*.jpg"))
        return [(str(file), self.class_to_idx["/".join(file.relative_to(images).parts[1:-1])]) for file in files]
