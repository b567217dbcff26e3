"""PatchCamelyon (PCAM): 327,680 microscope images of tissue, 96 x 96 pixels, with or without a tumour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._extras import optional, pillow
from .utils import download_file_from_google_drive, extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["PCAM"]

_FILES = {  # split -> (images, targets), each (file name, Google Drive id, MD5 of the compressed file)
    "train": (
        ("camelyonpatch_level_2_split_train_x.h5", "1Ka0XfEMiwgCYPdTI-vv6eUElOBnKFKQ2", "1571f514728f59376b705fc836ff4b63"),
        ("camelyonpatch_level_2_split_train_y.h5", "1269yhu3pZDP8UYFQs-NYs3FPwuK-nGSG", "35c2d7259d906cfc8143347bb8e05be7"),
    ),
    "test": (
        ("camelyonpatch_level_2_split_test_x.h5", "1qV65ZqZvWzuIVthK8eVDhIwrbnsJdbg_", "d8c2d60d490dbd479f8199bdfa0cf6ec"),
        ("camelyonpatch_level_2_split_test_y.h5", "17BHrSrwWKjYsOgTMmoqrIjDy6Fa2o_gP", "60a7035772fbdb7f34eb86d4420cf66a"),
    ),
    "val": (
        ("camelyonpatch_level_2_split_valid_x.h5", "1hgshYGWK8V-eGRy8LToWJJgDU_rXWVJ3", "d5b63470df7cfa627aeec8b9dc0c066e"),
        ("camelyonpatch_level_2_split_valid_y.h5", "1bH8ZRbhSVAhScTS0p9-ZzGnX91cHT3uO", "2b85f58b927af9964a4c15b8f7e8f179"),
    ),
}


class PCAM(VisionDataset):
    """[PatchCamelyon](https://github.com/basveeling/pcam): 327,680 microscope images of tissue; the target is whether the
    centre contains a tumour.

    Veeling, Linmans, Winkens, Cohen and Welling, [Rotation Equivariant CNNs for Digital
    Pathology](https://arxiv.org/abs/1806.03962), 2018. Images have 96 x 96 pixels. The package `h5py` reads the files.

    Args:
        root: the folder that holds `pcam`.
        split: `train`, `test` or `val`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (1 for a tumour, else 0).
        download: fetch the files into `root` if they are missing.

    Raises:
        ModuleNotFoundError: h5py is not installed (raised when an item is read).
        RuntimeError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.PCAM("data", split="val")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", _FILES)
        self._ensure_files(download)

    @property
    def _paths(self) -> list[Path]:
        return [self._folder / "pcam" / name for name, _, _ in _FILES[self._split]]

    @staticmethod
    def _open(path: Path) -> Any:
        # The file is opened for each read, because an open HDF5 file cannot be pickled for the workers of a DataLoader.
        return optional("h5py", "h5py", "reading PatchCamelyon").File(path, "r")

    def _check_exists(self) -> bool:
        return all(path.is_file() for path in self._paths)

    def download(self) -> None:
        """Download the image and target files of the split from Google Drive, and decompress them."""
        for name, file_id, md5 in _FILES[self._split]:
            packed = self._folder / "pcam" / f"{name}.gz"
            download_file_from_google_drive(file_id, packed.parent, packed.name, md5)
            extract_archive(packed)

    def __len__(self) -> int:
        with self._open(self._paths[0]) as images:
            return images["x"].shape[0]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self._open(self._paths[0]) as images, self._open(self._paths[1]) as targets:
            pixels, target = images["x"][index], int(targets["y"][index, 0, 0, 0])
        return self._transformed(pillow().fromarray(pixels).convert("RGB"), target)
