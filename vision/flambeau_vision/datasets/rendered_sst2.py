"""Sentences as pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader, make_dataset
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["RenderedSST2"]

_FOLDERS = {"train": "train", "val": "valid", "test": "test"}


class RenderedSST2(VisionDataset):
    """[Rendered SST2](https://github.com/openai/CLIP/blob/main/data/rendered-sst2.md): sentences that praise or blame a film.

    Args:
        root: the folder that holds `rendered-sst2`.
        split: `train`, `val` or `test`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (0 for blame, 1 for praise).
        download: fetch the archive into `root` where it is missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("negative", "positive"):
        ...         (folder := Path(root, "rendered-sst2/train", name)).mkdir(parents=True)
        ...         Image.new("RGB", (6, 4)).save(folder / "1.png")
        ...     sentences = datasets.RenderedSST2(root)
        ...     len(sentences), sentences[1][0].size, sentences.classes[sentences[1][1]]
        (2, (6, 4), 'positive')
    """

    _URL = "https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz"
    _MD5 = "2384d08e9dcfa4bd55b324e610496ee5"

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", _FOLDERS)
        self.loader = loader
        self.classes = ["negative", "positive"]
        self.class_to_idx = {"negative": 0, "positive": 1}
        self._ensure_files(download)
        self._samples = make_dataset(str(self._images), extensions=(".png",))

    @property
    def _images(self) -> Path:
        return self._folder / "rendered-sst2" / _FOLDERS[self._split]

    def _check_exists(self) -> bool:
        return all((self._images / name).is_dir() for name in self.classes)

    def download(self) -> None:
        """Fetch and unpack the archive."""
        download_and_extract_archive(self._URL, self._folder, md5=self._MD5)

    def extra_repr(self) -> str:
        return f"split={self._split}"

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self._samples[index]
        return self._transformed(self.loader(path), target)
