"""The base class of all vision datasets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flambeau.utils.data import Dataset

__all__ = ["StandardTransform", "VisionDataset"]


class StandardTransform:
    """Apply `transform` to the image and `target_transform` to the target. Either may be None."""

    def __init__(self, transform: Callable | None = None, target_transform: Callable | None = None) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for title, function in (
            ("Transform: ", self.transform),
            ("Target transform: ", self.target_transform),
        ):
            if function is not None:
                lines.append(title + repr(function).replace("\n", "\n" + " " * len(title)))
        return "\n".join(lines)


class VisionDataset(Dataset):
    """A dataset of images: `len(dataset)` samples, each `dataset[i]` an `(image, target)` pair.

    Subclasses define `__len__` and `__getitem__`, which returns `self._transformed(image, target)`.

    Args:
        root: the folder that holds the data.
        transforms: a function of `(image, target)` that returns both, transformed.
        transform: a function of the image alone.
        target_transform: a function of the target alone.

    Raises:
        ValueError: if `transforms` is given together with one of the other two.

    Example:
        >>> from flambeau_vision import datasets
        >>> class Squares(datasets.VisionDataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         return self._transformed(index, index**2)
        >>> Squares(transform=float, target_transform=str)[2]
        (2.0, '4')
    """

    def __init__(
        self,
        root: str | Path | None = None,
        transforms: Callable | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ) -> None:
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        # Both functions are read at each call, because a program may assign `dataset.transform` at any time.
        if self.transforms is None or isinstance(self.transforms, StandardTransform):
            return StandardTransform(self.transform, self.target_transform)(image, target)
        return self.transforms(image, target)

    def _ensure_files(self, download: bool) -> None:
        """If files are missing, call `self.download()` if `download` is True, otherwise raise RuntimeError."""
        if download and not self._check_exists():
            self.download()
        if not self._check_exists():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")

    @property
    def _folder(self) -> Path:
        """`root` as an expanded `Path`."""
        return Path(self.root)

    def extra_repr(self) -> str:
        """Return extra lines for `repr`."""
        return ""

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body.append(repr(self.transforms))
        return "\n    ".join([f"Dataset {type(self).__name__}", *body])
