"""Caltech 101 and Caltech 256: 8,677 and 30,607 photographs of objects in 101 and 257 categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._extras import optional
from .folder import pil_loader
from .published import PublishedDataset
from .utils import extract_archive, verify_str_arg

__all__ = ["Caltech101", "Caltech256"]

# Category -> name of its annotation folder, where the two differ.
_ANNOTATION_NAMES = {
    "Faces": "Faces_2",
    "Faces_easy": "Faces_3",
    "Motorbikes": "Motorbikes_16",
    "airplanes": "Airplanes_Side_2",
}


class _Caltech(PublishedDataset):
    """Base of both datasets. The folder `_needed[0]` contains one folder of images per category."""

    def _find_images(self) -> None:
        folders = self._folder / self._needed[0]
        self.categories = sorted(path.name for path in folders.iterdir() if path.is_dir())
        if "BACKGROUND_Google" in self.categories:
            self.categories.remove("BACKGROUND_Google")  # no category: its images show no object
        self._images = [
            (path, label) for label, name in enumerate(self.categories) for path in sorted((folders / name).glob("*.jpg"))
        ]

    def __len__(self) -> int:
        return len(self._images)


class Caltech101(_Caltech):
    """[Caltech 101](https://data.caltech.edu/records/20086): 8,677 images in 101 categories.

    Fei-Fei, Fergus and Perona, "Learning generative visual models from few training examples", 2004.

    Args:
        root: the folder that holds `caltech101`.
        target_type: `category` (an integer) or `annotation` (the outline, read by SciPy), or a list of both.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        download: fetch the archives into `root` if they are missing.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `target_type` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "caltech101/101_ObjectCategories/ant")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "image_0001.jpg")
        ...     ants = datasets.Caltech101(root)
        ...     ants.categories, ants[0][0].size, ants[0][1]
        (['ant'], (6, 4), 0)
    """

    _needed = ("101_ObjectCategories",)
    _archives = (("https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip", "3138e1922a9193bfa496528edbbc45d0"),)

    def __init__(
        self,
        root: str | Path,
        target_type: Sequence[str] | str = "category",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(Path(root).expanduser() / "caltech101", transform=transform, target_transform=target_transform)
        types = [target_type] if isinstance(target_type, str) else target_type
        self.target_type = [verify_str_arg(kind, "target_type", ("category", "annotation")) for kind in types]
        self._ensure_files(download)
        self._find_images()

    def download(self) -> None:
        """Download and unpack the archive and the archives inside it."""
        super().download()
        for packed in sorted((self._folder / "caltech-101").glob("*.tar*")):
            extract_archive(packed, self._folder, remove_finished=True)

    def _target(self, kind: str, path: Path, label: int) -> Any:
        if kind == "category":
            return label
        folder = _ANNOTATION_NAMES.get(self.categories[label], self.categories[label])
        file = self._folder / "Annotations" / folder / f"annotation_{path.stem.rpartition('_')[2]}.mat"
        return optional("scipy.io", "scipy", "reading annotations of Caltech 101").loadmat(str(file))["obj_contour"]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self._images[index]
        targets = tuple(self._target(kind, path, label) for kind in self.target_type)
        return self._transformed(pil_loader(path), targets if len(targets) > 1 else targets[0])

    def extra_repr(self) -> str:
        return f"Target type: {self.target_type}"


class Caltech256(_Caltech):
    """[Caltech 256](https://data.caltech.edu/records/20087): 30,607 images in 257 categories.

    Griffin, Holub and Perona, "Caltech-256 object category dataset", 2007.

    Args:
        root: the folder that holds `caltech256`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` if it is missing.

    Raises:
        RuntimeError: the files are missing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "caltech256/256_ObjectCategories/001.ak47")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "001_0001.jpg")
        ...     things = datasets.Caltech256(root)
        ...     things.categories, things[0][0].size, things[0][1]
        (['001.ak47'], (6, 4), 0)
    """

    _needed = ("256_ObjectCategories",)
    _archives = (
        (
            "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
            "67b4f42ca05d46448c6bb8ecd2220f6d",
        ),
    )

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(Path(root).expanduser() / "caltech256", transform=transform, target_transform=target_transform)
        self._ensure_files(download)
        self._find_images()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self._images[index]
        return self._transformed(pil_loader(path), label)
