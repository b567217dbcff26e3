"""ImageNet 2012: 1.3 million photographs in 1,000 classes."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from .._extras import optional
from .folder import ImageFolder
from .utils import check_integrity, extract_archive, verify_str_arg

__all__ = ["ImageNet"]

_ARCHIVES = {
    "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
    "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
    "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
}
_META_FILE = "meta.json"


def _find_archive(root: Path, kind: str) -> Path:
    name, md5 = _ARCHIVES[kind]
    if not check_integrity(root / name, md5):
        raise RuntimeError(
            f"The archive {name} is not present in the root directory or is corrupted. "
            f"You need to download it externally and place it in {root}."
        )
    return root / name


def _read_devkit(root: Path) -> None:
    """Unpack the development kit, and write two tables to `_META_FILE`: class names, and classes of the validation images."""
    scipy_io = optional("scipy.io", "scipy", "reading the development kit of ImageNet")
    with tempfile.TemporaryDirectory() as folder:
        extract_archive(_find_archive(root, "devkit"), folder)
        data = Path(folder, "ILSVRC2012_devkit_t12", "data")
        synsets = scipy_io.loadmat(str(data / "meta.mat"), squeeze_me=True)["synsets"]
        leaves = [row for row in synsets.tolist() if row[4] == 0]  # the 1,000 classes are the leaves of the WordNet hierarchy
        wnids = {int(row[0]): row[1] for row in leaves}
        names = {row[1]: row[2].split(", ") for row in leaves}
        truth = (data / "ILSVRC2012_validation_ground_truth.txt").read_text().split()
        meta = {"classes": names, "validation": [wnids[int(number)] for number in truth]}
    (root / _META_FILE).write_text(json.dumps(meta))


def _unpack_training_images(root: Path, folder: Path) -> None:
    extract_archive(_find_archive(root, "train"), folder)
    for archive in folder.glob("*.tar"):
        extract_archive(archive, archive.with_suffix(""), remove_finished=True)


def _unpack_validation_images(root: Path, folder: Path, wnids: list[str]) -> None:
    extract_archive(_find_archive(root, "val"), folder)
    for image, wnid in zip(sorted(folder.glob("*.JPEG")), wnids, strict=True):
        (folder / wnid).mkdir(exist_ok=True)
        shutil.move(image, folder / wnid / image.name)


class ImageNet(ImageFolder):
    """[ImageNet](http://image-net.org/) 2012: 1.3 million photographs in 1,000 classes.

    The archives must be downloaded manually. They are unpacked on first use.

    Russakovsky et al., [ImageNet Large Scale Visual Recognition Challenge](https://arxiv.org/abs/1409.0575), 2014.

    Args:
        root: the folder that holds the archives.
        split: `train` or `val`.
        **kwargs: `transform`, `target_transform` and `loader`, as for `ImageFolder`.

    Attributes:
        classes: a tuple of names for each class.
        class_to_idx: dict from each name of a class to its target.
        wnids: the WordNet id of each class.
        wnid_to_idx: dict from WordNet id to target.

    Raises:
        RuntimeError: if an archive is missing or its checksum is wrong.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.ImageNet("data", split="val")
        Traceback (most recent call last):
        ...
        RuntimeError: The archive ILSVRC2012_devkit_t12.tar.gz is not present in the root directory or is corrupted. ...
    """

    def __init__(self, root: str | Path, split: str = "train", **kwargs: Any) -> None:
        self.split = verify_str_arg(split, "split", ("train", "val"))
        folder = Path(root).expanduser()
        self._unpack(folder)
        names = json.loads((folder / _META_FILE).read_text())["classes"]
        super().__init__(folder / split, **kwargs)
        self.root = str(folder)
        self.wnids = self.classes
        self.wnid_to_idx = self.class_to_idx
        self.classes = [tuple(names[wnid]) for wnid in self.wnids]
        self.class_to_idx = {name: index for index, several in enumerate(self.classes) for name in several}

    def _unpack(self, root: Path) -> None:
        if not (root / _META_FILE).exists():
            _read_devkit(root)
        if (root / self.split).is_dir():
            return
        unfinished = root / f".{self.split}.unfinished"  # renamed when complete, so an interrupted run leaves no partial split
        shutil.rmtree(unfinished, ignore_errors=True)
        if self.split == "train":
            _unpack_training_images(root, unfinished)
        else:
            _unpack_validation_images(root, unfinished, json.loads((root / _META_FILE).read_text())["validation"])
        unfinished.rename(root / self.split)

    @property
    def split_folder(self) -> str:
        """The folder that contains the images of the split."""
        return str(Path(self.root) / self.split)

    def extra_repr(self) -> str:
        return f"Split: {self.split}"
