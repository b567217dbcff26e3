"""STL-10: colour photographs of 96 x 96 pixels: 13,000 in 10 classes, and 100,000 without labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .._extras import pillow
from .utils import check_integrity, download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["STL10"]


class STL10(VisionDataset):
    """[STL-10](https://cs.stanford.edu/~acoates/stl10/): 113,000 photographs of 96 x 96 pixels.

    Of these, 13,000 are labelled with one of 10 classes, and 100,000 are unlabelled.

    Coates, Lee and Ng, "An Analysis of Single-Layer Networks in Unsupervised Feature Learning", 2011.

    Args:
        root: the folder that holds `stl10_binary`.
        split: `train`, `test`, `unlabeled` or `train+unlabeled`; unlabelled images have target -1.
        folds: one of the ten folds of the training images, 0 to 9; all of them by default.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the files into `root` if they are missing.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.
        ValueError: `split` or `folds` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.STL10("data", split="train+unlabeled")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    base_folder = "stl10_binary"
    url = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"
    filename = "stl10_binary.tar.gz"
    tgz_md5 = "91f7769df0f17e558f3565bffb0c7dfb"
    class_names_file = "class_names.txt"
    folds_list_file = "fold_indices.txt"
    train_list: ClassVar[Any] = [
        ["train_X.bin", "918c2871b30a85fa023e0c44e0bee87f"],
        ["train_y.bin", "5a34089d4802c674881badbb80307741"],
        ["unlabeled_X.bin", "5242ba1fed5e4be9e1e742405eb56ca4"],
    ]
    test_list: ClassVar[Any] = [
        ["test_X.bin", "7f263ba9f9e0b06b93213547f721ac82"],
        ["test_y.bin", "36f9794fa4beb8a2c72628de14fa638e"],
    ]
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        folds: int | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        if folds is not None and folds not in range(10):
            raise ValueError(f"Value for argument folds should be in the range [0, 10), but got {folds}.")
        self.folds = folds
        self._ensure_files(download)
        self.data, self.labels = self._load()
        self.classes = (self._files / self.class_names_file).read_text().splitlines()

    @property
    def _files(self) -> Path:
        return self._folder / self.base_folder

    def _load(self) -> tuple[Any, Any]:
        import numpy as np

        parts = [self._read(name) for name in self.split.split("+")]
        if self.split.startswith("train") and self.folds is not None:
            line = (self._files / self.folds_list_file).read_text().splitlines()[self.folds]
            chosen = np.array(line.split(), dtype=np.int64)
            parts[0] = tuple(values[chosen] for values in parts[0])
        return tuple(np.concatenate(values) for values in zip(*parts, strict=True))

    def _read(self, name: str) -> tuple[Any, Any]:
        import numpy as np

        # Pixels are stored in column-major order.
        images = np.fromfile(self._files / f"{name}_X.bin", np.uint8).reshape(-1, 3, 96, 96).swapaxes(2, 3)
        if name == "unlabeled":
            return images, np.full(len(images), -1)
        return images, np.fromfile(self._files / f"{name}_y.bin", np.uint8).astype(np.int64) - 1

    def _check_exists(self) -> bool:
        return all(check_integrity(self._files / name, md5) for name, md5 in [*self.train_list, *self.test_list])

    def download(self) -> None:
        """Download the archive of all splits and unpack it into `root`."""
        download_and_extract_archive(self.url, self._folder, filename=self.filename, md5=self.tgz_md5)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = pillow().fromarray(self.data[index].transpose(1, 2, 0).copy())
        return self._transformed(image, int(self.labels[index]))

    def extra_repr(self) -> str:
        return f"Split: {self.split}"
