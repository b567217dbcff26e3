"""CelebA: 202,599 photographs of celebrity faces with 40 binary attributes, identities, boxes and landmarks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import flambeau as torch

from .folder import pil_loader
from .utils import check_integrity, download_file_from_google_drive, extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["CelebA"]


class CelebA(VisionDataset):
    """[CelebA](http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html): 202,599 faces with attributes.

    Liu, Luo, Wang and Tang, [Deep Learning Face Attributes in the Wild](https://arxiv.org/abs/1411.7766), 2014.

    Args:
        root: the folder that holds `celeba`.
        split: `train`, `valid`, `test` or `all`.
        target_type: `attr` (40 numbers, 0 or 1), `identity` (a number), `bbox` (left, top, width, height in the original
            image) or `landmarks` (five `x, y` pairs). A list of these makes the target a tuple, an empty list makes it None.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        download: fetch the files into `root` if they are missing.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.
        ValueError: `split` or `target_type` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.CelebA("data", split="valid")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    base_folder = "celeba"
    file_list: ClassVar[Any] = [
        ("0B7EVK8r0v71pZjFTYXZWM3FlRnM", "00d2c5bc6d35e252742224ab0c1e8fcb", "img_align_celeba.zip"),
        ("0B7EVK8r0v71pblRyaVFSWGxPY0U", "75e246fa4810816ffd6ee81facbd244c", "list_attr_celeba.txt"),
        ("1_ee_0u7vcNLOfNLegJRHmolfH5ICW-XS", "32bd1bd63d3c78cd57e08160ec5ed1e2", "identity_CelebA.txt"),
        ("0B7EVK8r0v71pbThiMVRxWXZ4dU0", "00566efa6fedff7a56946cd1c10f1c16", "list_bbox_celeba.txt"),
        (
            "0B7EVK8r0v71pd0FJY3Blby1HUTQ",
            "cc24ecafdb5b50baae59b03474781f8c",
            "list_landmarks_align_celeba.txt",
        ),
        ("0B7EVK8r0v71pY0NSMzRuSXJEVkk", "d32c9cbf5e040fd4025c592c306e6668", "list_eval_partition.txt"),
    ]

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        target_type: list[str] | str = "attr",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", ("train", "valid", "test", "all"))
        types = [target_type] if isinstance(target_type, str) else target_type
        allowed = ("attr", "identity", "bbox", "landmarks")
        self.target_type = [verify_str_arg(kind, "target_type", allowed) for kind in types]
        if not self.target_type and target_transform is not None:
            raise RuntimeError("target_transform is specified but target_type is empty")
        self._ensure_files(download)
        self._load()

    @property
    def _files(self) -> Path:
        return self._folder / self.base_folder

    def _table(self, file: str, header: bool = False) -> tuple[list[str], list[str], torch.Tensor]:
        """Return `(column names, row names, numbers)` of a table file. A header has two lines: row count and column names."""
        lines = (self._files / file).read_text().splitlines()
        columns = lines[1].split() if header else []
        rows = [line.split() for line in lines[2 if header else 0 :]]
        return (
            columns,
            [row[0] for row in rows],
            torch.tensor([[int(value) for value in row[1:]] for row in rows]),
        )

    def _load(self) -> None:
        _, names, parts = self._table("list_eval_partition.txt")
        self.attr_names, _, attributes = self._table("list_attr_celeba.txt", header=True)
        if self.split == "all":
            chosen = torch.ones(len(names), dtype=torch.bool)
        else:
            chosen = parts[:, 0] == ("train", "valid", "test").index(self.split)
        self.filename = [name for name, is_chosen in zip(names, chosen.tolist(), strict=True) if is_chosen]
        self.attr = (attributes[chosen] + 1) // 2  # map {-1, 1} to {0, 1}
        self.identity = self._table("identity_CelebA.txt")[2][chosen]
        self.bbox = self._table("list_bbox_celeba.txt", header=True)[2][chosen]
        self.landmarks_align = self._table("list_landmarks_align_celeba.txt", header=True)[2][chosen]

    def _check_exists(self) -> bool:
        texts = [(name, md5) for _, md5, name in self.file_list if name.endswith(".txt")]
        is_complete = all(check_integrity(self._files / name, md5) for name, md5 in texts)
        return is_complete and (self._files / "img_align_celeba").is_dir()

    def download(self) -> None:
        """Download the tables and the archive of images from Google Drive, and unpack the images."""
        for file_id, md5, name in self.file_list:
            download_file_from_google_drive(file_id, self._files, name, md5)
        extract_archive(self._files / "img_align_celeba.zip")

    def _target(self, kind: str, index: int) -> torch.Tensor:
        if kind == "identity":
            return self.identity[index, 0]
        return {"attr": self.attr, "bbox": self.bbox, "landmarks": self.landmarks_align}[kind][index]

    def __len__(self) -> int:
        return len(self.filename)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = pil_loader(self._files / "img_align_celeba" / self.filename[index])
        targets = tuple(self._target(kind, index) for kind in self.target_type)
        target = (targets if len(targets) > 1 else targets[0]) if targets else None
        return self._transformed(image, target)

    def extra_repr(self) -> str:
        return f"Target type: {self.target_type}\nSplit: {self.split}"
