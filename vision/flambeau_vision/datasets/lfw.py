"""Labeled Faces in the Wild (LFW): 13,233 photographs of the faces of 5,749 people, and pairs of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .folder import default_loader
from .utils import check_integrity, verify_str_arg
from .vision import VisionDataset

__all__ = ["LFWPairs", "LFWPeople"]

_PAGE = "https://www.kaggle.com/datasets/jessicali9530/lfw-dataset"


class _LFW(VisionDataset):
    """Base of `LFWPeople` and `LFWPairs`: locates the images and the table of each split."""

    base_folder = "lfw-py"
    file_dict: ClassVar[dict[str, tuple[str, str, str]]] = {
        "original": ("lfw", "lfw.tgz", "a17d05bd522c52d84eca14327a23d494"),
        "funneled": ("lfw_funneled", "lfw-funneled.tgz", "1b42dfed7d15c9b2dd63d5e5840c86ad"),
        "deepfunneled": ("lfw-deepfunneled", "lfw-deepfunneled.tgz", "68331da3eb755a505a502b5aacb3c201"),
    }
    checksums: ClassVar[dict[str, str]] = {
        "pairs.txt": "9f1ba174e4e1c508ff7cdf10ac338a7d",
        "pairsDevTest.txt": "5132f7440eb68cf58910c8a45a2ac10b",
        "pairsDevTrain.txt": "4f27cbf15b2da4a85c1907eb4181ad21",
        "people.txt": "450f0863dd89e85e73936a6d71a3474b",
        "peopleDevTest.txt": "e4bf5be0a43b5dcd9dc5ccfcb8fb19c5",
        "peopleDevTrain.txt": "54eaac34beb6d042ed3a7d883e247a21",
        "lfw-names.txt": "a6d0a479bd074669f656265a6e693f6d",
    }
    annot_file: ClassVar[dict[str, str]] = {"10fold": "", "train": "DevTrain", "test": "DevTest"}
    view: ClassVar[str]

    def __init__(
        self,
        root: str | Path,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        folder = str(Path(root).expanduser() / self.base_folder)
        super().__init__(folder, transform=transform, target_transform=target_transform)
        self.image_set = verify_str_arg(image_set.lower(), "image_set", self.file_dict)
        self.split = verify_str_arg(split.lower(), "split", self.annot_file)
        name, self.filename, self.md5 = self.file_dict[self.image_set]
        self.images_dir = str(self._folder / name)
        self.labels_file = f"{self.view}{self.annot_file[self.split]}.txt"
        self._loader = loader
        self._ensure_files(download)

    @property
    def _tables(self) -> tuple[str, ...]:
        return (self.labels_file,)

    def _check_exists(self) -> bool:
        texts = all(check_integrity(self._folder / name, self.checksums[name]) for name in self._tables)
        return texts and check_integrity(self._folder / self.filename, self.md5)

    def download(self) -> None:
        """Raise an error, because the files must be downloaded manually."""
        raise ValueError(f"LFW is no longer available for automatic download. Put its files into {self.root}, from {_PAGE}")

    def _rows(self, name: str) -> list[list[str]]:
        return [line.split("\t") for line in (self._folder / name).read_text().splitlines()]

    def _image(self, person: str, number: str | int) -> str:
        return str(Path(self.images_dir, person, f"{person}_{int(number):04d}.jpg"))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Alignment: {self.image_set}\nSplit: {self.split}"


class LFWPeople(_LFW):
    """[Labeled Faces in the Wild](http://vis-www.cs.umass.edu/lfw/): 13,233 photographs of the faces of 5,749 people.
    The target is the person.

    Huang, Ramesh, Berg and Learned-Miller, "Labeled Faces in the Wild", 2007. The files must be downloaded manually.

    Args:
        root: the folder that holds `lfw-py`, with the archive, its folder of images, and the tables.
        split: `10fold`, `train` or `test`.
        image_set: how faces are aligned: `original`, `funneled` or `deepfunneled`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (the number of the person).
        download: not supported; True raises an error if files are missing.
        loader: a function that reads a file.

    Attributes:
        class_to_idx: dict from a person's name to the target.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.
        ValueError: `split` or `image_set` is unknown, or `download` is True.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.LFWPeople("data", split="test")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    view = "people"
    names = "lfw-names.txt"

    def __init__(
        self,
        root: str | Path,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, split, image_set, transform, target_transform, download, loader)
        names = [row[0].split()[0] for row in self._rows(self.names)]
        self.class_to_idx = {name: index for index, name in enumerate(names)}
        # Lines with two words are a person and a number of images. Lines with one number count folds, or people in a fold.
        people = [(row[0], int(row[1])) for row in self._rows(self.labels_file) if len(row) == 2]
        images = [(person, number) for person, count in people for number in range(1, count + 1)]
        self.data = [self._image(person, number) for person, number in images]
        self.targets = [self.class_to_idx[person] for person, _ in images]

    @property
    def _tables(self) -> tuple[str, ...]:
        return self.labels_file, self.names

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(self._loader(self.data[index]), self.targets[index])

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}\nClasses (identities): {len(self.class_to_idx)}"


class LFWPairs(_LFW):
    """[Labeled Faces in the Wild](http://vis-www.cs.umass.edu/lfw/): pairs of face images; the target is whether both show
    the same person.

    Huang, Ramesh, Berg and Learned-Miller, "Labeled Faces in the Wild", 2007. The files must be downloaded manually. Each item
    is `(first, second, target)`.

    Args:
        root: the folder that holds `lfw-py`, with the archive, its folder of images, and the tables.
        split: `10fold`, `train` or `test`.
        image_set: how faces are aligned: `original`, `funneled` or `deepfunneled`.
        transform: a function of each image (a PIL image).
        target_transform: a function of the target (1 for the same person, 0 for different people).
        download: not supported; True raises an error if files are missing.
        loader: a function that reads a file.

    Attributes:
        pair_names: the names of the two people of each pair.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.
        ValueError: `split` or `image_set` is unknown, or `download` is True.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.LFWPairs("data", split="test")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    view = "pairs"

    def __init__(
        self,
        root: str | Path,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, split, image_set, transform, target_transform, download, loader)
        # Lines name two images: `person number number` for the same person, `person number person number` for different
        # people. The first line is the number of pairs.
        pairs = [
            ((row[0], row[1]), (row[0], row[2])) if len(row) == 3 else ((row[0], row[1]), (row[2], row[3]))
            for row in self._rows(self.labels_file)
            if len(row) > 2
        ]
        self.pair_names = [(first, second) for (first, _), (second, _) in pairs]
        self.data = [(self._image(*first), self._image(*second)) for first, second in pairs]
        self.targets = [int(first == second) for first, second in self.pair_names]

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        first, second = (self._loader(path) for path in self.data[index])
        if self.transform is not None:
            first, second = self.transform(first), self.transform(second)
        target = self.targets[index]
        return first, second, target if self.target_transform is None else self.target_transform(target)
