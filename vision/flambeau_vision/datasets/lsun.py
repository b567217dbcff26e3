"""LSUN (large-scale scene understanding): millions of photographs of ten kinds of places, stored in LMDB databases."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

from .._extras import optional, pillow
from .utils import verify_str_arg
from .vision import VisionDataset

__all__ = ["LSUN", "LSUNClass"]

_CATEGORIES = (
    "bedroom",
    "bridge",
    "church_outdoor",
    "classroom",
    "conference_room",
    "dining_room",
    "kitchen",
    "living_room",
    "restaurant",
    "tower",
)


class LSUNClass(VisionDataset):
    """The images of one LMDB database, without targets. The package `lmdb` is needed to read the database.

    Args:
        root: the folder of the database.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target, always None.

    Raises:
        ModuleNotFoundError: `lmdb` is not installed.

    Example:
        >>> from pathlib import Path
        >>> from flambeau_vision import datasets
        >>> if Path("data/bedroom_val_lmdb").is_dir():
        ...     image, _ = datasets.LSUNClass("data/bedroom_val_lmdb")[0]
    """

    def __init__(self, root: str | Path, transform: Callable | None = None, target_transform: Callable | None = None) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._database: Any = None
        with self.env.begin(write=False) as transaction:
            self.keys = [key for key, _ in transaction.cursor()]

    @property
    def env(self) -> Any:
        """The open LMDB environment. It is reopened in each process, because LMDB handles cannot be shared."""
        if self._database is None:
            lmdb = optional("lmdb", "lmdb", "reading LSUN")
            options = {
                "max_readers": 1,
                "readonly": True,
                "lock": False,
                "readahead": False,
                "meminit": False,
            }
            self._database = lmdb.open(str(self.root), **options)
        return self._database

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_database": None}

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self.env.begin(write=False) as transaction:
            encoded = transaction.get(self.keys[index])
        return self._transformed(pillow().open(io.BytesIO(encoded)).convert("RGB"), None)


class LSUN(VisionDataset):
    """[LSUN](https://www.yf.io/p/lsun): millions of photographs of ten kinds of places.

    Yu et al., [LSUN: Construction of a Large-scale Image Dataset using Deep Learning with Humans in the
    Loop](https://arxiv.org/abs/1506.03365), 2015. The package `lmdb` is needed to read the files.

    Args:
        root: the folder that holds `bedroom_train_lmdb` and so on.
        classes: `train`, `val` or `test`, or a list such as `["bedroom_train", "church_outdoor_train"]`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (the index of the class in `classes`).

    Raises:
        ValueError: `classes` contains an unknown class.
        ModuleNotFoundError: `lmdb` is not installed.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.LSUN("data", classes=["garden_train"])
        Traceback (most recent call last):
        ...
        ValueError: Unknown value 'garden' for argument LSUN class. ...
    """

    def __init__(
        self,
        root: str | Path,
        classes: str | list[str] = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes = self._verify_classes(classes)
        self.dbs = [LSUNClass(self._folder / f"{name}_lmdb") for name in self.classes]
        self.indices = list(accumulate(len(database) for database in self.dbs))

    @staticmethod
    def _verify_classes(classes: str | list[str]) -> list[str]:
        splits = ("train", "val", "test")
        if isinstance(classes, str):
            verify_str_arg(classes, "classes", splits)
            return ["test"] if classes == "test" else [f"{name}_{classes}" for name in _CATEGORIES]
        for name in classes:
            category, _, split = name.rpartition("_")
            verify_str_arg(category, "LSUN class", _CATEGORIES)
            verify_str_arg(split, "postfix", splits)
        return list(classes)

    def __len__(self) -> int:
        return self.indices[-1] if self.indices else 0

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = bisect_right(self.indices, index)
        start = self.indices[target - 1] if target > 0 else 0
        image, _ = self.dbs[target][index - start]
        return self._transformed(image, target)

    def extra_repr(self) -> str:
        return f"Classes: {self.classes}"
