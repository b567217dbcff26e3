"""Imagenette: photographs of ten classes of ImageNet that are easy to tell apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader, find_classes, make_dataset
from .published import ImageList
from .utils import verify_str_arg

__all__ = ["Imagenette"]

_SITE = "https://s3.amazonaws.com/fast-ai-imageclas/"
_ARCHIVES = {
    "full": ("imagenette2", "fe2fc210e6bb7c5664d602c3cd71e612"),
    "320px": ("imagenette2-320", "3df6f0d01a2c9592104656642f5e78a3"),
    "160px": ("imagenette2-160", "e793b78cc4c9e9a4ccc0c1155377a412"),
}
_NAMES = {
    "n01440764": ("tench", "Tinca tinca"),
    "n02102040": ("English springer", "English springer spaniel"),
    "n02979186": ("cassette player",),
    "n03000684": ("chain saw", "chainsaw"),
    "n03028079": ("church", "church building"),
    "n03394916": ("French horn", "horn"),
    "n03417042": ("garbage truck", "dustcart"),
    "n03425413": ("gas pump", "gasoline pump", "petrol pump", "island dispenser"),
    "n03445777": ("golf ball",),
    "n03888257": ("parachute", "chute"),
}


class Imagenette(ImageList):
    """[Imagenette](https://github.com/fastai/imagenette): ten classes of ImageNet that are easy to tell apart.

    Args:
        root: the folder that holds `imagenette2`, `imagenette2-320` or `imagenette2-160`.
        split: `train` or `val`.
        size: `full`, or `320px` or `160px` for images whose shorter side has that length.
        download: fetch the archive into `root` if it is missing.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` or `size` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "imagenette2-160/train/n03445777")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "a.JPEG")
        ...     images = datasets.Imagenette(root, size="160px")
        ...     images.classes, images[0][0].size, images[0][1]
        ([('golf ball',)], (6, 4), 0)
    """

    _splits = ("train", "val")

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        size: str = "full",
        download: bool = False,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        self._size = verify_str_arg(size, "size", _ARCHIVES)
        super().__init__(root, split, transform, target_transform, download, loader)

    @property
    def _archives(self) -> list[tuple[str, str]]:
        name, md5 = _ARCHIVES[self._size]
        return [(f"{_SITE}{name}.tgz", md5)]

    @property
    def _needed(self) -> list[str]:
        return [_ARCHIVES[self._size][0]]

    def _list_samples(self) -> list[tuple[str, int]]:
        images = str(self._files / _ARCHIVES[self._size][0] / self._split)
        self.wnids, self.wnid_to_idx = find_classes(images)
        self.classes = [_NAMES[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: index for wnid, index in self.wnid_to_idx.items() for name in _NAMES[wnid]}
        return make_dataset(images, self.wnid_to_idx, extensions=(".jpeg",))
