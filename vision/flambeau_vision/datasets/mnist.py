"""MNIST and datasets in the same IDX file format: Fashion-MNIST, KMNIST, EMNIST and QMNIST."""

from __future__ import annotations

import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from urllib.error import URLError

import flambeau as torch

from .._extras import pillow
from .utils import check_integrity, download_and_extract_archive, extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["EMNIST", "KMNIST", "MNIST", "QMNIST", "FashionMNIST"]

_IDX_DTYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx_file(path: str | Path) -> torch.Tensor:
    """Read an IDX file: two zero bytes, a byte each for dtype and number of dimensions, big-endian sizes, then data."""
    import numpy as np

    content = Path(path).read_bytes()
    zeros, code, ndim = content[:2], content[2], content[3]
    if zeros != b"\0\0" or code not in _IDX_DTYPES:
        raise ValueError(f"{path} is not an IDX file: it starts with {content[:4]!r}")
    shape = np.frombuffer(content, ">u4", ndim, offset=4)
    values = np.frombuffer(content, _IDX_DTYPES[code], offset=4 + 4 * ndim).reshape(shape)
    return torch.from_numpy(values.astype(values.dtype.newbyteorder("=")))


def _read_idx(path: Path, ndim: int) -> torch.Tensor:
    values = read_idx_file(path)
    if values.ndim != ndim:
        raise ValueError(f"{path} should have {ndim} dimensions instead of {values.ndim}")
    return values


class MNIST(VisionDataset):
    """[MNIST](http://yann.lecun.com/exdb/mnist/): 70,000 handwritten digits of 28 x 28 pixels, in 10 classes.

    LeCun, Bottou, Bengio and Haffner, "Gradient-based learning applied to document recognition", 1998.

    Args:
        root: the folder that holds `MNIST/raw`, with `train-images-idx3-ubyte` and the other three files.
        train: use the 60,000 training images if True, otherwise the 10,000 test images.
        transform: a function of the image (a PIL image in mode `L`).
        target_transform: a function of the target (an integer).
        download: fetch the files into `root` if they are missing.

    Attributes:
        data: `uint8` tensor of shape `(N, 28, 28)`.
        targets: `int64` tensor of shape `(N,)`.

    Raises:
        RuntimeError: the files are missing, or no mirror provides them.

    Example:
        >>> import struct, tempfile
        >>> from pathlib import Path
        >>> from flambeau_vision import datasets
        >>> def write_idx(path, *shape):
        ...     header = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
        ...     _ = path.write_bytes(header + bytes(2 * 28 * 28 if len(shape) == 3 else 2))
        >>> with tempfile.TemporaryDirectory() as root:
        ...     raw = Path(root, "MNIST", "raw")
        ...     raw.mkdir(parents=True)
        ...     write_idx(raw / "train-images-idx3-ubyte", 2, 28, 28)
        ...     write_idx(raw / "train-labels-idx1-ubyte", 2)
        ...     digits = datasets.MNIST(root)
        >>> image, target = digits[0]
        >>> len(digits), image.size, digits.classes[target]
        (2, (28, 28), '0 - zero')
    """

    mirrors: ClassVar[list[str]] = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources: ClassVar[Any] = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    classes: ClassVar[list[str]] = [
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    ]

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
        self.data, self.targets = self._load_data()

    @property
    def raw_folder(self) -> str:
        """Folder that contains the IDX files."""
        return str(self._folder / type(self).__name__ / "raw")

    @property
    def images_file(self) -> Path:
        """Path of the image file of this split."""
        return Path(self.raw_folder, f"{'train' if self.train else 't10k'}-images-idx3-ubyte")

    @property
    def labels_file(self) -> Path:
        """Path of the label file of this split."""
        return Path(self.raw_folder, f"{'train' if self.train else 't10k'}-labels-idx1-ubyte")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Dict from class name to target."""
        return {name: index for index, name in enumerate(self.classes)}

    # Deprecated aliases: `train_data` and `test_data` for `data`, `train_labels` and `test_labels` for `targets`.
    train_data = test_data = property(lambda self: self.data)
    train_labels = test_labels = property(lambda self: self.targets)

    def _check_exists(self) -> bool:
        return check_integrity(self.images_file) and check_integrity(self.labels_file)

    def _load_data(self) -> tuple[torch.Tensor, torch.Tensor]:
        return _read_idx(self.images_file, 3), _read_idx(self.labels_file, 1).long()

    def download(self) -> None:
        """Download missing files from the first mirror that provides them."""
        for name, md5 in self.resources:
            if not Path(self.raw_folder, name.removesuffix(".gz")).exists():
                self._download_from_mirrors(name, md5)

    def _download_from_mirrors(self, name: str, md5: str) -> None:
        tried = ""
        for mirror in self.mirrors:
            try:
                return download_and_extract_archive(mirror + name, self.raw_folder, md5=md5)
            except (RuntimeError, URLError) as error:  # the mirror is unreachable, or its file has a wrong checksum
                tried += f"Tried {mirror}, got:\n{error}\n"
        raise RuntimeError(f"Error downloading {name}:\n{tried}")

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = pillow().fromarray(self.data[index].numpy())
        return self._transformed(image, int(self.targets[index]))

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """[Fashion-MNIST](https://github.com/zalandoresearch/fashion-mnist): 70,000 articles of clothing in 10 classes.

    Images are 28 x 28 grey pixels, as in MNIST. Xiao, Rasul and Vollgraf,
    [Fashion-MNIST](https://arxiv.org/abs/1708.07747), 2017.

    Args:
        root: the folder that holds `FashionMNIST/raw`, with `train-images-idx3-ubyte` and the other three files.
        train: use the 60,000 training images if True, otherwise the 10,000 test images.
        transform: a function of the image (a PIL image in mode `L`).
        target_transform: a function of the target (an integer).
        download: fetch the files into `root` if they are missing.

    Attributes:
        data: `uint8` tensor of shape `(N, 28, 28)`.
        targets: `int64` tensor of shape `(N,)`.

    Raises:
        RuntimeError: the files are missing, or no mirror provides them.

    Example:
        >>> import struct, tempfile
        >>> from pathlib import Path
        >>> from flambeau_vision import datasets
        >>> def write_idx(path, *shape):
        ...     header = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
        ...     _ = path.write_bytes(header + bytes(2 * 28 * 28 if len(shape) == 3 else 2))
        >>> with tempfile.TemporaryDirectory() as root:
        ...     raw = Path(root, "FashionMNIST", "raw")
        ...     raw.mkdir(parents=True)
        ...     write_idx(raw / "train-images-idx3-ubyte", 2, 28, 28)
        ...     write_idx(raw / "train-labels-idx1-ubyte", 2)
        ...     clothes = datasets.FashionMNIST(root)
        >>> image, target = clothes[0]
        >>> len(clothes), image.size, clothes.classes[target]
        (2, (28, 28), 'T-shirt/top')
    """

    mirrors: ClassVar[list[str]] = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources: ClassVar[Any] = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes: ClassVar[list[str]] = [
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ]


class KMNIST(MNIST):
    """[Kuzushiji-MNIST](https://github.com/rois-codh/kmnist): 70,000 cursive Japanese characters in 10 classes.

    Images are 28 x 28 grey pixels, as in MNIST. Clanuwat et al., [Deep Learning for Classical Japanese
    Literature](https://arxiv.org/abs/1812.01718), 2018.

    Args:
        root: the folder that holds `KMNIST/raw`, with `train-images-idx3-ubyte` and the other three files.
        train: use the 60,000 training images if True, otherwise the 10,000 test images.
        transform: a function of the image (a PIL image in mode `L`).
        target_transform: a function of the target (an integer).
        download: fetch the files into `root` if they are missing.

    Attributes:
        data: `uint8` tensor of shape `(N, 28, 28)`.
        targets: `int64` tensor of shape `(N,)`.

    Raises:
        RuntimeError: the files are missing, or no mirror provides them.

    Example:
        >>> import struct, tempfile
        >>> from pathlib import Path
        >>> from flambeau_vision import datasets
        >>> def write_idx(path, *shape):
        ...     header = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
        ...     _ = path.write_bytes(header + bytes(2 * 28 * 28 if len(shape) == 3 else 2))
        >>> with tempfile.TemporaryDirectory() as root:
        ...     raw = Path(root, "KMNIST", "raw")
        ...     raw.mkdir(parents=True)
        ...     write_idx(raw / "train-images-idx3-ubyte", 2, 28, 28)
        ...     write_idx(raw / "train-labels-idx1-ubyte", 2)
        ...     characters = datasets.KMNIST(root)
        >>> image, target = characters[0]
        >>> len(characters), image.size, characters.classes[target]
        (2, (28, 28), 'o')
    """

    mirrors: ClassVar[list[str]] = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources: ClassVar[Any] = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes: ClassVar[list[str]] = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


class EMNIST(MNIST):
    """[EMNIST](https://www.westernsydney.edu.au/bens/home/reproducible_research/emnist): handwritten letters and digits.

    Images are 28 x 28 grey pixels. They are transposed in the published files, and here as well.

    Cohen, Afshar, Tapson and van Schaik, [EMNIST: an extension of MNIST to handwritten
    letters](https://arxiv.org/abs/1702.05373), 2017.

    Args:
        root: the folder that holds `EMNIST/raw`.
        split: `byclass`, `bymerge`, `balanced`, `letters`, `digits` or `mnist`.
        **kwargs: `train`, `transform`, `target_transform` and `download`, as for `MNIST`.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.EMNIST("data", split="letters")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    _all_classes = sorted(string.digits + string.ascii_letters)
    # An upper and a lower case letter that look alike share a class, such as C and c.
    _merged_classes = sorted(set(_all_classes) - set("cijklmopsuvwxyz"))
    classes_split_dict: ClassVar[dict[str, list[str]]] = {
        "byclass": _all_classes,
        "bymerge": _merged_classes,
        "balanced": _merged_classes,
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root: str | Path, split: str, **kwargs: Any) -> None:
        self.split = verify_str_arg(split, "split", self.splits)
        super().__init__(root, **kwargs)
        self.classes = self.classes_split_dict[split]

    @property
    def _prefix(self) -> str:
        return f"emnist-{self.split}-{'train' if self.train else 'test'}"

    @property
    def images_file(self) -> Path:
        return Path(self.raw_folder, f"{self._prefix}-images-idx3-ubyte")

    @property
    def labels_file(self) -> Path:
        return Path(self.raw_folder, f"{self._prefix}-labels-idx1-ubyte")

    def download(self) -> None:
        download_and_extract_archive(self.url, self.raw_folder, md5=self.md5)
        packed_folder = Path(self.raw_folder, "gzip")
        for packed in packed_folder.glob("*.gz"):
            extract_archive(packed, self.raw_folder)
        shutil.rmtree(packed_folder)


class QMNIST(MNIST):
    """[QMNIST](https://github.com/facebookresearch/qmnist): MNIST with 50,000 more test images, which had been lost, and with
    more labels, such as the writer.

    Yadav and Bottou, [Cold Case: The Lost MNIST Digits](https://arxiv.org/abs/1905.10498), 2019.

    Args:
        root: the folder that holds `QMNIST/raw`.
        what: `train`, `test`, `test10k`, `test50k` or `nist`; by default `train` or `test`, depending on `train`.
        compat: if True, targets are class indices; otherwise tensors of all eight label columns.
        train: selects `train` or `test` if `what` is not given.
        **kwargs: `transform`, `target_transform` and `download`, as for `MNIST`.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `what` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.QMNIST("data", what="test50k")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    subsets: ClassVar[dict[str, str]] = {
        "train": "train",
        "test": "test",
        "test10k": "test",
        "test50k": "test",
        "nist": "nist",
    }
    _site = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"
    resources: ClassVar[Any] = {
        "train": [
            (f"{_site}qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
            (f"{_site}qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
        ],
        "test": [
            (f"{_site}qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
            (f"{_site}qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
        ],
        "nist": [
            (f"{_site}xnist-images-idx3-ubyte.xz", "7f124b3b8ab81486c9d8c2749c17f834"),
            (f"{_site}xnist-labels-idx2-int.xz", "5ed0e788978e45d4a8bd4b7caec3d79d"),
        ],
    }

    def __init__(
        self,
        root: str | Path,
        what: str | None = None,
        compat: bool = True,
        train: bool = True,
        **kwargs: Any,
    ) -> None:
        self.what = verify_str_arg(what or ("train" if train else "test"), "what", self.subsets)
        self.compat = compat
        super().__init__(root, train, **kwargs)

    @property
    def _downloads(self) -> list[tuple[str, str]]:
        return self.resources[self.subsets[self.what]]

    @property
    def images_file(self) -> Path:
        return Path(self.raw_folder, Path(self._downloads[0][0]).stem)

    @property
    def labels_file(self) -> Path:
        return Path(self.raw_folder, Path(self._downloads[1][0]).stem)

    def _load_data(self) -> tuple[torch.Tensor, torch.Tensor]:
        data, targets = _read_idx(self.images_file, 3), _read_idx(self.labels_file, 2).long()
        chosen = {"test10k": slice(10000), "test50k": slice(10000, None)}.get(self.what, slice(None))
        return data[chosen], targets[chosen]

    def download(self) -> None:
        for url, md5 in self._downloads:
            download_and_extract_archive(url, self.raw_folder, md5=md5)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, target = pillow().fromarray(self.data[index].numpy()), self.targets[index]
        return self._transformed(image, int(target[0]) if self.compat else target)

    def extra_repr(self) -> str:
        return f"Split: {self.what}"
