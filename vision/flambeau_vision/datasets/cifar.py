"""CIFAR-10 and CIFAR-100: 60,000 colour photographs of 32 x 32 pixels each, in 10 and 100 classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .._extras import pillow
from ._pickle import load_plain_pickle
from .utils import check_integrity, download_and_extract_archive
from .vision import VisionDataset

__all__ = ["CIFAR10", "CIFAR100"]


class CIFAR10(VisionDataset):
    """[CIFAR-10](https://www.cs.toronto.edu/~kriz/cifar.html): 60,000 photographs of 32 x 32 pixels in 10 classes.

    The published pickle files are read by an unpickler that accepts only NumPy arrays and plain containers, so no code from
    the files can run.

    Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.

    Args:
        root: the folder that holds `cifar-10-batches-py`.
        train: use the 50,000 training images if True, otherwise the 10,000 test images.
        transform: a function of the image (a PIL image in mode `RGB`).
        target_transform: a function of the target (an integer).
        download: fetch and unpack the archive into `root` if it is missing.

    Attributes:
        data: `uint8` array of shape `(N, 32, 32, 3)`.
        targets: list of integers.
        classes: the names of the classes.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.CIFAR10("data", train=False)
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list: ClassVar[Any] = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list: ClassVar[Any] = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta: ClassVar[dict[str, str]] = {
        "filename": "batches.meta",
        "key": "label_names",
        "md5": "5ff9c542aee3614f3951f8cda6e48888",
    }

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        self._ensure_files(download)
        self._load_batches()
        self.classes = load_plain_pickle(self._batches / self.meta["filename"])[self.meta["key"]]
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    @property
    def _batches(self) -> Path:
        return self._folder / self.base_folder

    def _load_batches(self) -> None:
        import numpy as np

        names = [name for name, _ in (self.train_list if self.train else self.test_list)]
        batches = [load_plain_pickle(self._batches / name) for name in names]
        stacked = np.concatenate([batch["data"] for batch in batches]).reshape(-1, 3, 32, 32)
        self.data = np.ascontiguousarray(stacked.transpose(0, 2, 3, 1))
        self.targets = [label for batch in batches for label in batch.get("labels", batch.get("fine_labels"))]

    # Deprecated aliases: `train_data` and `test_data` for `data`, `train_labels` and `test_labels` for `targets`.
    train_data = test_data = property(lambda self: self.data)
    train_labels = test_labels = property(lambda self: self.targets)

    def _check_exists(self) -> bool:
        expected = [*self.train_list, *self.test_list, (self.meta["filename"], self.meta["md5"])]
        return all(check_integrity(self._batches / name, md5) for name, md5 in expected)

    def download(self) -> None:
        """Download the archive of all images and unpack it into `root`."""
        download_and_extract_archive(self.url, self._folder, filename=self.filename, md5=self.tgz_md5)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(pillow().fromarray(self.data[index]), self.targets[index])

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """[CIFAR-100](https://www.cs.toronto.edu/~kriz/cifar.html): 60,000 photographs of 32 x 32 pixels in 100 classes.

    The targets are the fine labels. As with `CIFAR10`, no code from the files can run. Krizhevsky, "Learning Multiple
    Layers of Features from Tiny Images", 2009.

    Args:
        root: the folder that holds `cifar-100-python`.
        train: use the 50,000 training images if True, otherwise the 10,000 test images.
        transform: a function of the image (a PIL image in mode `RGB`).
        target_transform: a function of the target (an integer).
        download: fetch and unpack the archive into `root` if it is missing.

    Attributes:
        data: `uint8` array of shape `(N, 32, 32, 3)`.
        targets: list of integers.
        classes: the names of the classes.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.CIFAR100("data", train=False)
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list: ClassVar[Any] = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list: ClassVar[Any] = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta: ClassVar[dict[str, str]] = {
        "filename": "meta",
        "key": "fine_label_names",
        "md5": "7973b15100ade9c7d40fb424638fde48",
    }
