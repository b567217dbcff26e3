"""Street View House Numbers (SVHN): 630,420 photographs of digits, 32 x 32 pixels, in 10 classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .._extras import optional, pillow
from .utils import check_integrity, download_url, verify_str_arg
from .vision import VisionDataset

__all__ = ["SVHN"]


class SVHN(VisionDataset):
    """[SVHN](http://ufldl.stanford.edu/housenumbers/): 630,420 photographs of digits of house numbers, 32 x 32 pixels, in 10
    classes. SciPy is needed to read the files.

    Netzer, Wang, Coates, Bissacco, Wu and Ng, "Reading Digits in Natural Images with Unsupervised Feature Learning", 2011.

    Args:
        root: the folder that holds `train_32x32.mat` and so on.
        split: `train`, `test` or `extra`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer; 0 for the digit 0).
        download: fetch the file into `root` if it is missing.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.
        ValueError: `split` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.SVHN("data", split="extra")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    split_list: ClassVar[dict[str, list[str]]] = {
        "train": [
            "http://ufldl.stanford.edu/housenumbers/train_32x32.mat",
            "train_32x32.mat",
            "e26dedcc434d2e4c54c9b2d4a06d8373",
        ],
        "test": [
            "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
            "test_32x32.mat",
            "eb5a983be6a315427106f1b164d9cef3",
        ],
        "extra": [
            "http://ufldl.stanford.edu/housenumbers/extra_32x32.mat",
            "extra_32x32.mat",
            "a93ce644f1a588dc4d68dda5feec44a7",
        ],
    }

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.split_list)
        self.url, self.filename, self.file_md5 = self.split_list[split]
        self._ensure_files(download)
        stored = optional("scipy.io", "scipy", "reading SVHN").loadmat(str(self._folder / self.filename))
        self.data = stored["X"].transpose(3, 2, 0, 1)
        self.labels = stored["y"].astype("int64").flatten() % 10  # the digit 0 is stored as 10

    def _check_exists(self) -> bool:
        return check_integrity(self._folder / self.filename, self.file_md5)

    def download(self) -> None:
        """Download the `.mat` file of the split to `root`."""
        download_url(self.url, self._folder, self.filename, self.file_md5)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = pillow().fromarray(self.data[index].transpose(1, 2, 0).copy())
        return self._transformed(image, int(self.labels[index]))

    def extra_repr(self) -> str:
        return f"Split: {self.split}"
