"""EuroSAT: 27,000 satellite images of 64 x 64 pixels in 10 classes of land use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import ImageFolder, default_loader
from .utils import download_and_extract_archive

__all__ = ["EuroSAT"]


class EuroSAT(ImageFolder):
    """[EuroSAT](https://github.com/phelber/eurosat): 27,000 satellite images in 10 classes of land use.

    Helber, Bischke, Dengel and Borth, [EuroSAT: A Novel Dataset and Deep Learning Benchmark for Land Use and Land Cover
    Classification](https://arxiv.org/abs/1709.00029), 2017.

    Args:
        root: the folder that holds `eurosat`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` if it is missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "eurosat/2750/Forest")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "1.jpg")
        ...     land = datasets.EuroSAT(root)
        ...     land.classes, land[0][0].size, land[0][1]
        (['Forest'], (6, 4), 0)
    """

    _URL = "https://huggingface.co/datasets/torchgeo/eurosat/resolve/c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip"
    _MD5 = "c8fa014336c82ac7804f0398fcb19387"

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        self._base = Path(root).expanduser() / "eurosat"
        self._ensure_files(download)
        super().__init__(self._base / "2750", transform, target_transform, loader)
        self.root = str(Path(root).expanduser())

    def _check_exists(self) -> bool:
        return (self._base / "2750").is_dir()

    def download(self) -> None:
        """Download the archive of the images and unpack it into `root/eurosat`."""
        download_and_extract_archive(self._URL, self._base, md5=self._MD5)
