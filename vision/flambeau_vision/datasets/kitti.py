"""KITTI: photographs of streets taken from a car, with 2D and 3D boxes of cars, people and other objects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import open_image
from .published import PublishedDataset

__all__ = ["Kitti"]


class Kitti(PublishedDataset):
    r"""[KITTI](http://www.cvlibs.net/datasets/kitti/eval_object.php?obj_benchmark): street scenes taken from a car, with 2D
    and 3D boxes.

    Geiger, Lenz and Urtasun, "Are we ready for Autonomous Driving? The KITTI Vision Benchmark Suite", 2012. The target is a
    list of dicts, one for each object: `type`, `truncated`, `occluded`, `alpha`, `bbox` (left, top, right, bottom),
    `dimensions`, `location` and `rotation_y`.

    Args:
        root: the folder that holds `Kitti/raw`.
        train: the 7,481 training images if True, otherwise the 7,518 test images, which have no target (None).
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        transforms: a function of `(image, target)` that returns both.
        download: fetch the archives into `root` if they are missing.

    Raises:
        RuntimeError: the files are missing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("image_2", "label_2"):
        ...         (folder := Path(root, "Kitti/raw/training", name)).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder.parent / "image_2/000000.png")
        ...     _ = (folder / "000000.txt").write_text("Car 0.00 0 1.55 1 1 4 3 1.57 1.73 4.15 1.0 1.75 13.22 1.62\n")
        ...     image, target = datasets.Kitti(root)[0]
        ...     target[0]["type"], target[0]["bbox"]
        ('Car', [1.0, 1.0, 4.0, 3.0])
    """

    _base = "Kitti/raw"
    _archives = tuple(
        (f"https://s3.eu-central-1.amazonaws.com/avg-kitti/data_object_{name}_2.zip", None) for name in ("image", "label")
    )

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        transforms: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.train = train
        self._ensure_files(download)
        part = self._files / self._part
        self.images = [str(path) for path in sorted((part / "image_2").iterdir())]
        self.targets = [str(part / "label_2" / f"{Path(path).stem}.txt") for path in self.images] if train else []

    @property
    def _part(self) -> str:
        return "training" if self.train else "testing"

    @property
    def _needed(self) -> list[str]:
        return [f"{self._part}/{name}" for name in (("image_2", "label_2") if self.train else ("image_2",))]

    @staticmethod
    def _read_target(path: str) -> list[dict[str, Any]]:
        objects = []
        for kind, *texts in map(str.split, Path(path).read_text(encoding="utf-8").splitlines()):
            truncated, occluded, alpha, *numbers = map(float, texts)
            objects.append(
                {
                    "type": kind,
                    "truncated": truncated,
                    "occluded": int(occluded),
                    "alpha": alpha,
                    "bbox": numbers[:4],
                    "dimensions": numbers[4:7],
                    "location": numbers[7:10],
                    "rotation_y": numbers[10],
                }
            )
        return objects

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = self._read_target(self.targets[index]) if self.train else None
        return self._transformed(open_image(self.images[index]), target)
