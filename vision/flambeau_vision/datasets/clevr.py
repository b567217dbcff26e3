"""Rendered pictures of a few solids."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import default_loader
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["CLEVRClassification"]


class CLEVRClassification(VisionDataset):
    """[CLEVR](https://cs.stanford.edu/people/jcjohns/clevr/): how many solids there are in a picture.

    Args:
        root: the folder that holds `clevr`.
        split: `train`, `val` or `test`; in the last the targets are None.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
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
        ...     (folder := Path(root, "clevr/CLEVR_v1.0/images/test")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "CLEVR_test_000000.png")
        ...     solids = datasets.CLEVRClassification(root, split="test")
        ...     len(solids), solids[0][0].size, solids[0][1]
        (1, (6, 4), None)
    """

    _URL = "https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip"
    _MD5 = "b11922020e72d0cd9154779b2d3d07d2"

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
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        self.loader = loader
        self._ensure_files(download)
        files = sorted((self._data / "images" / split).glob("*"))
        counts: dict[str, int] = {}
        if split != "test":
            scenes = json.loads((self._data / "scenes" / f"CLEVR_{split}_scenes.json").read_text())["scenes"]
            counts = {scene["image_filename"]: len(scene["objects"]) for scene in scenes}
        self._samples = [(str(file), counts[file.name] if counts else None) for file in files]

    @property
    def _data(self) -> Path:
        return self._folder / "clevr" / "CLEVR_v1.0"

    def _check_exists(self) -> bool:
        return self._data.is_dir()

    def download(self) -> None:
        """Fetch and unpack the archive."""
        download_and_extract_archive(self._URL, self._folder / "clevr", md5=self._MD5)

    def extra_repr(self) -> str:
        return f"split={self._split}"

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self._samples[index]
        return self._transformed(self.loader(path), target)
