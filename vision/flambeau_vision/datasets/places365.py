"""Places365: photographs of places in 365 classes, 1.8 million in the standard training split."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import check_integrity, download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["Places365"]

_SITE = "http://data.csail.mit.edu/places/places365/"
_DEVKITS = {
    "standard": ("filelist_places365-standard.tar", "35a0585fee1fa656440f3ab298f8479c"),
    "challenge": ("filelist_places365-challenge.tar", "70a8307e459c3de41690a7c76c931734"),
}
_CATEGORIES = ("categories_places365.txt", "06c963b85866bd0649f97cb43dd16673")
_FILE_LISTS = {
    "train-standard": ("places365_train_standard.txt", "30f37515461640559006b8329efbed1a"),
    "train-challenge": ("places365_train_challenge.txt", "b2931dc997b8c33c27e7329c073a6b57"),
    "val": ("places365_val.txt", "e9f2fd57bfd9d07630173f4e8708e4b1"),
    "test": ("places365_test.txt", "2fce8233fe493576d724142e45d93653"),
}
_IMAGES = {  # keyed by (split, small)
    ("train-standard", False): ("train_large_places365standard.tar", "67e186b496a84c929568076ed01a8aa1"),
    ("train-challenge", False): ("train_large_places365challenge.tar", "605f18e68e510c82b958664ea134545f"),
    ("val", False): ("val_large.tar", "9b71c4993ad89d2d8bcbdc4aef38042f"),
    ("test", False): ("test_large.tar", "41a4b6b724b1d2cd862fb3871ed59913"),
    ("train-standard", True): ("train_256_places365standard.tar", "53ca1c756c3d1e7809517cc47c5561c5"),
    ("train-challenge", True): ("train_256_places365challenge.tar", "741915038a5e3471ec7332404dfb64ef"),
    ("val", True): ("val_256.tar", "e27b17d8d44f4af9a78502beb927f808"),
    ("test", True): ("test_256.tar", "f532f6ad7b582262a2ec8009075e186b"),
}


class Places365(VisionDataset):
    """[Places365](http://places2.csail.mit.edu/index.html): photographs of 365 scene categories.

    Zhou, Lapedriza, Khosla, Oliva and Torralba, "Places: A 10 million Image Database for Scene Recognition", 2017.

    Args:
        root: the folder that holds the files.
        split: `train-standard`, `train-challenge`, `val` or `test`. The test split has no targets (None).
        small: use images of 256 x 256 pixels instead of the full size.
        download: fetch the archives into `root` if they are missing.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        loader: a function that reads a file.

    Attributes:
        classes: the names of the classes, sorted.
        class_to_idx: dict from class name to target.
        imgs: list of `(path, target)`.
        targets: list of targets.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.
        ValueError: `split` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.Places365("data", split="val", small=True)
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train-standard",
        small: bool = False,
        download: bool = False,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", _FILE_LISTS)
        self.small = small
        self.loader = loader
        self._ensure_files(download)
        self.class_to_idx = {name: int(number) for name, number in self._words(_CATEGORIES[0])}
        self.classes = sorted(self.class_to_idx)
        lines = self._words(_FILE_LISTS[split][0])
        self.imgs = [(str(self._images / name.lstrip("/")), int(number[0]) if number else None) for name, *number in lines]
        self.targets = [target for _, target in self.imgs]

    def _words(self, file: str) -> list[list[str]]:
        return [line.split() for line in (self._folder / file).read_text().splitlines()]

    @property
    def variant(self) -> str:
        """The variant of the training split: `standard` or `challenge`."""
        return "challenge" if "challenge" in self.split else "standard"

    @property
    def images_dir(self) -> str:
        """The folder that contains the images of the split."""
        size = "256" if self.small else "large"
        name = f"data_{size}_{self.variant}" if self.split.startswith("train") else f"{self.split}_{size}"
        return str(self._folder / name)

    @property
    def _images(self) -> Path:
        return Path(self.images_dir)

    def _check_exists(self) -> bool:
        lists = (_CATEGORIES, _FILE_LISTS[self.split])
        return all(check_integrity(self._folder / name, md5) for name, md5 in lists) and self._images.is_dir()

    def download(self) -> None:
        """Download the lists of images and the images of the split, and unpack them."""
        for name, md5 in (_DEVKITS[self.variant], _IMAGES[self.split, self.small]):
            download_and_extract_archive(_SITE + name, self._folder, md5=md5)
        if self.split.startswith("train"):
            # The archives of the standard and the challenge variant contain a folder of the same name, so it is renamed.
            self._images.with_name(self._images.name.rpartition("_")[0]).rename(self._images)

    def __len__(self) -> int:
        return len(self.imgs)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.imgs[index]
        return self._transformed(self.loader(path), target)

    def extra_repr(self) -> str:
        return f"Split: {self.split}\nSmall: {self.small}"
