"""FGVC Aircraft: 10,000 photographs of aircraft, labelled by variant (100 classes), family or manufacturer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .published import ImageList
from .utils import verify_str_arg

__all__ = ["FGVCAircraft"]

_CLASSES = {"variant": "variants.txt", "family": "families.txt", "manufacturer": "manufacturers.txt"}


class FGVCAircraft(ImageList):
    """[FGVC Aircraft](https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/): 10,000 photographs of aircraft.

    Args:
        root: the folder that holds `fgvc-aircraft-2013b`.
        split: `train`, `val`, `trainval` or `test`.
        annotation_level: the level of the classes: `variant`, `family` or `manufacturer`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` if it is missing.
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

    _splits = ("train", "val", "trainval", "test")
    _archives = (("https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz", None),)
    _needed = ("fgvc-aircraft-2013b",)

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
        self._annotation_level = verify_str_arg(annotation_level, "annotation_level", _CLASSES)
        super().__init__(root, split, transform, target_transform, download, loader)

    def _list_samples(self) -> list[tuple[str, int]]:
        data, level = self._files / "fgvc-aircraft-2013b" / "data", self._annotation_level
        self._number_classes([line.strip() for line in (data / _CLASSES[level]).read_text().splitlines()])
        lines = (data / f"images_{level}_{self._split}.txt").read_text().splitlines()
        pairs = [line.strip().split(" ", 1) for line in lines]
        return [(str(data / "images" / f"{image}.jpg"), self.class_to_idx[name]) for image, name in pairs]
