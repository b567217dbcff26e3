"""Moving MNIST: 10,000 videos of two digits that move and bounce, with 20 frames of 64 x 64 pixels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import flambeau as torch

from .utils import download_url, verify_str_arg
from .vision import VisionDataset

__all__ = ["MovingMNIST"]


class MovingMNIST(VisionDataset):
    """[Moving MNIST](http://www.cs.toronto.edu/~nitish/unsupervised_video/): 10,000 videos of 20 frames of 64 x 64 pixels.

    Srivastava, Mansimov and Salakhutdinov, [Unsupervised Learning of Video Representations using
    LSTMs](https://arxiv.org/abs/1502.04681), 2015. Each item is a uint8 tensor of shape `(T, 1, H, W)`.

    Args:
        root: the folder that holds `MovingMNIST`.
        split: `train` for the first frames of each video, `test` for the others, None for all.
        split_ratio: the number of training frames per video, from 1 to 19.
        download: fetch the file into `root` if it is missing.
        transform: a function of an item.

    Raises:
        RuntimeError: the file is missing.
        TypeError: `split_ratio` is not an integer.
        ValueError: `split` is unknown, or `split_ratio` is not from 1 to 19.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "MovingMNIST")).mkdir()
        ...     np.save(folder / "mnist_test_seq.npy", np.zeros((20, 3, 64, 64), np.uint8))
        ...     films = datasets.MovingMNIST(root, split="test", split_ratio=15)
        ...     len(films), films[0].shape
        (3, torch.Size([5, 1, 64, 64]))
    """

    _URL = "http://www.cs.toronto.edu/~nitish/unsupervised_video/mnist_test_seq.npy"
    _MD5 = "be083ec986bfe91a449d63653c411eb2"

    def __init__(
        self,
        root: str | Path,
        split: str | None = None,
        split_ratio: int = 10,
        download: bool = False,
        transform: Callable | None = None,
    ) -> None:
        super().__init__(root, transform=transform)
        self.split = split if split is None else verify_str_arg(split, "split", ("train", "test"))
        if not isinstance(split_ratio, int):
            raise TypeError(f"`split_ratio` should be an integer, but got {type(split_ratio)}")
        if not 1 <= split_ratio <= 19:
            raise ValueError(f"`split_ratio` should be `1 <= split_ratio <= 19`, but got {split_ratio} instead.")
        self.split_ratio = split_ratio
        self._ensure_files(download)
        self.data = self._load()

    @property
    def _file(self) -> Path:
        return self._folder / "MovingMNIST" / "mnist_test_seq.npy"

    def _load(self) -> torch.Tensor:
        import numpy as np

        chosen = {"train": slice(self.split_ratio), "test": slice(self.split_ratio, None), None: slice(None)}[self.split]
        pictures = torch.from_numpy(np.load(self._file, allow_pickle=False))[chosen]
        return pictures.transpose(0, 1).unsqueeze(2).contiguous()

    def _check_exists(self) -> bool:
        return self._file.is_file()

    def download(self) -> None:
        """Download the `.npy` file of all videos to `root/MovingMNIST`."""
        download_url(self._URL, self._file.parent, md5=self._MD5)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        film = self.data[index]
        return film if self.transform is None else self.transform(film)
