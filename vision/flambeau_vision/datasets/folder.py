"""Datasets that are stored as one folder per class."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import get_image_backend
from .._extras import optional, pillow
from .vision import VisionDataset

__all__ = [
    "IMG_EXTENSIONS",
    "DatasetFolder",
    "ImageFolder",
    "default_loader",
    "find_classes",
    "has_file_allowed_extension",
    "is_image_file",
    "make_dataset",
    "pil_loader",
]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether the file name ends with one of the extensions, ignoring case."""
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Whether the file name ends with one of `IMG_EXTENSIONS`, ignoring case."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: str | Path) -> tuple[list[str], dict[str, int]]:
    """Return the sorted names of the folders in `directory` and a dict from name to index.

    Raises:
        FileNotFoundError: if `directory` contains no folders.
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: index for index, name in enumerate(classes)}


def _file_test(extensions: str | tuple[str, ...] | None, is_valid_file: Callable[[str], bool] | None) -> Callable[[str], bool]:
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    return is_valid_file or (lambda path: has_file_allowed_extension(path, extensions))


def make_dataset(
    directory: str | Path,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """Return all `(path, class index)` pairs below `directory`, sorted by class, then folder, then file name.

    Args:
        directory: a folder with one folder per class, each with files at any depth.
        class_to_idx: the classes to look for; by default all folders.
        extensions: the extensions to accept. Give either this or `is_valid_file`.
        is_valid_file: a function that returns whether to accept a path.
        allow_empty: accept classes without files.

    Raises:
        ValueError: unless exactly one of `extensions` and `is_valid_file` is given.
        FileNotFoundError: if a class has no files and `allow_empty` is false.
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    accepts = _file_test(extensions, is_valid_file)
    samples: list[tuple[str, int]] = []
    empty = []
    for name in sorted(class_to_idx):
        paths = [
            os.path.join(folder, file)
            for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True))
            for file in sorted(files)
        ]
        accepted = [(path, class_to_idx[name]) for path in paths if accepts(path)]
        if not accepted:
            empty.append(name)
        samples += accepted
    if empty and not allow_empty:
        message = f"Found no valid file for the classes {', '.join(empty)}. "
        if extensions is not None:
            message += f"Supported extensions are: {extensions if isinstance(extensions, str) else ', '.join(extensions)}"
        raise FileNotFoundError(message)
    return samples


def open_image(path: str | Path) -> Any:
    """Read an image file as a PIL image without converting its mode, such as a mask of class indices."""
    with open(path, "rb") as file:
        image = pillow().open(file)
        image.load()
        return image


def pil_loader(path: str | Path) -> Any:
    """Read an image file as a PIL image in mode `RGB`."""
    return open_image(path).convert("RGB")


def default_loader(path: str | Path) -> Any:
    """Read an image file with the backend set by `flambeau_vision.set_image_backend`."""
    if get_image_backend() == "accimage":
        return optional("accimage", "accimage", "the accimage backend").Image(path)
    return pil_loader(path)


class DatasetFolder(VisionDataset):
    """Samples of any kind in one folder per class: `root/dog/a.ext`, `root/cat/deep/er/b.ext`.

    Args:
        root: the folder of the class folders.
        loader: a function that reads a file.
        extensions: the extensions to accept, with the dot. Give either this or `is_valid_file`.
        transform: a function of the sample.
        target_transform: a function of the target (the index of the class).
        is_valid_file: a function that returns whether to accept a path. Give either this or `extensions`.
        allow_empty: accept classes without files.

    Attributes:
        classes: the names of the classes, sorted.
        class_to_idx: dict from class name to target.
        samples: list of `(path, target)`.
        targets: list of targets.

    Raises:
        FileNotFoundError: there are no class folders, or a class without files.
        ValueError: both or neither of `extensions` and `is_valid_file` are given.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "greetings")).mkdir()
        ...     _ = (folder / "a.txt").write_text("hello")
        ...     texts = datasets.DatasetFolder(root, loader=lambda path: Path(path).read_text(), extensions=(".txt",))
        ...     texts.classes, texts[0]
        (['greetings'], ('hello', 0))
    """

    def __init__(
        self,
        root: str | Path,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]
        self.loader = loader
        self.extensions = extensions

    make_dataset = staticmethod(make_dataset)

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """Return the class names and a dict from name to index. Override it for another folder layout."""
        return find_classes(directory)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)


class ImageFolder(DatasetFolder):
    """Images in one folder per class: `root/dog/a.png`, `root/cat/b.jpg`.

    Args:
        root: the folder of the class folders.
        transform: a function of the image (a PIL image in mode `RGB`).
        target_transform: a function of the target (the index of the class).
        loader: a function that reads a file.
        is_valid_file: a function that returns whether to accept a path. By default the extension must be in `IMG_EXTENSIONS`.
        allow_empty: accept classes without files.

    Attributes:
        classes: the names of the classes, sorted.
        class_to_idx: dict from class name to target.
        samples: list of `(path, target)`.
        targets: list of targets.

    Raises:
        FileNotFoundError: there are no class folders, or a class without files.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("cat", "dog"):
        ...         Path(root, name).mkdir()
        ...         Image.new("RGB", (6, 4)).save(Path(root, name, "a.png"))
        ...     animals = datasets.ImageFolder(root)
        ...     image, target = animals[1]
        ...     image.size, animals.classes[target]
        ((6, 4), 'dog')
    """

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
