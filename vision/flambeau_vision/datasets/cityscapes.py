"""Cityscapes: street scenes of 50 cities, with a class and an instance for each pixel."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from .folder import open_image, pil_loader
from .utils import extract_archive, iterable_to_str, verify_str_arg
from .vision import VisionDataset

__all__ = ["Cityscapes"]

_FILES = {
    "instance": "instanceIds.png",
    "semantic": "labelIds.png",
    "polygon": "polygons.json",
    "color": "color.png",
}
_SPLITS = {"fine": ("train", "test", "val"), "coarse": ("train", "train_extra", "val")}


class CityscapesClass(NamedTuple):
    """A class of pixels. `train_id` is the label for training. A `train_id` of 255, or -1 for licence plates, means: ignore."""

    name: str
    id: int
    train_id: int
    category: str
    category_id: int
    has_instances: bool
    ignore_in_eval: bool
    color: tuple[int, int, int]


class Cityscapes(VisionDataset):
    """[Cityscapes](http://www.cityscapes-dataset.com/): street scenes of 50 cities. The target gives the class, or the class
    and instance, of each pixel.

    Cordts et al., [The Cityscapes Dataset for Semantic Urban Scene Understanding](https://arxiv.org/abs/1604.01685), 2016.
    The archives must be downloaded manually, with an account. Archives in `root` are unpacked on first use.

    Args:
        root: the folder that holds `leftImg8bit`, and `gtFine` or `gtCoarse`, or the archives of these folders.
        split: `train`, `val` or `test`; in coarse mode `train`, `train_extra` or `val`.
        mode: `fine` or `coarse` outlines.
        target_type: `instance`, `semantic` or `color` (PIL images) or `polygon` (a dict). A list of these makes the target a
            tuple.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        transforms: a function of `(image, target)` that returns both.

    Attributes:
        classes: the pixel classes, as named tuples.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split`, `mode` or `target_type` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for folder, name in (("leftImg8bit", "leftImg8bit"), ("gtFine", "gtFine_labelIds")):
        ...         Path(root, folder, "val/ulm").mkdir(parents=True)
        ...         Image.new("L", (6, 4), 7).save(Path(root, folder, f"val/ulm/ulm_000000_000019_{name}.png"))
        ...     image, target = datasets.Cityscapes(root, split="val", target_type="semantic")[0]
        ...     image.mode, datasets.Cityscapes.classes[target.getpixel((0, 0))].name
        ('RGB', 'road')
    """

    CityscapesClass = CityscapesClass
    classes: ClassVar[list[CityscapesClass]] = [
        CityscapesClass("unlabeled", 0, 255, "void", 0, False, True, (0, 0, 0)),
        CityscapesClass("ego vehicle", 1, 255, "void", 0, False, True, (0, 0, 0)),
        CityscapesClass("rectification border", 2, 255, "void", 0, False, True, (0, 0, 0)),
        CityscapesClass("out of roi", 3, 255, "void", 0, False, True, (0, 0, 0)),
        CityscapesClass("static", 4, 255, "void", 0, False, True, (0, 0, 0)),
        CityscapesClass("dynamic", 5, 255, "void", 0, False, True, (111, 74, 0)),
        CityscapesClass("ground", 6, 255, "void", 0, False, True, (81, 0, 81)),
        CityscapesClass("road", 7, 0, "flat", 1, False, False, (128, 64, 128)),
        CityscapesClass("sidewalk", 8, 1, "flat", 1, False, False, (244, 35, 232)),
        CityscapesClass("parking", 9, 255, "flat", 1, False, True, (250, 170, 160)),
        CityscapesClass("rail track", 10, 255, "flat", 1, False, True, (230, 150, 140)),
        CityscapesClass("building", 11, 2, "construction", 2, False, False, (70, 70, 70)),
        CityscapesClass("wall", 12, 3, "construction", 2, False, False, (102, 102, 156)),
        CityscapesClass("fence", 13, 4, "construction", 2, False, False, (190, 153, 153)),
        CityscapesClass("guard rail", 14, 255, "construction", 2, False, True, (180, 165, 180)),
        CityscapesClass("bridge", 15, 255, "construction", 2, False, True, (150, 100, 100)),
        CityscapesClass("tunnel", 16, 255, "construction", 2, False, True, (150, 120, 90)),
        CityscapesClass("pole", 17, 5, "object", 3, False, False, (153, 153, 153)),
        CityscapesClass("polegroup", 18, 255, "object", 3, False, True, (153, 153, 153)),
        CityscapesClass("traffic light", 19, 6, "object", 3, False, False, (250, 170, 30)),
        CityscapesClass("traffic sign", 20, 7, "object", 3, False, False, (220, 220, 0)),
        CityscapesClass("vegetation", 21, 8, "nature", 4, False, False, (107, 142, 35)),
        CityscapesClass("terrain", 22, 9, "nature", 4, False, False, (152, 251, 152)),
        CityscapesClass("sky", 23, 10, "sky", 5, False, False, (70, 130, 180)),
        CityscapesClass("person", 24, 11, "human", 6, True, False, (220, 20, 60)),
        CityscapesClass("rider", 25, 12, "human", 6, True, False, (255, 0, 0)),
        CityscapesClass("car", 26, 13, "vehicle", 7, True, False, (0, 0, 142)),
        CityscapesClass("truck", 27, 14, "vehicle", 7, True, False, (0, 0, 70)),
        CityscapesClass("bus", 28, 15, "vehicle", 7, True, False, (0, 60, 100)),
        CityscapesClass("caravan", 29, 255, "vehicle", 7, True, True, (0, 0, 90)),
        CityscapesClass("trailer", 30, 255, "vehicle", 7, True, True, (0, 0, 110)),
        CityscapesClass("train", 31, 16, "vehicle", 7, True, False, (0, 80, 100)),
        CityscapesClass("motorcycle", 32, 17, "vehicle", 7, True, False, (0, 0, 230)),
        CityscapesClass("bicycle", 33, 18, "vehicle", 7, True, False, (119, 11, 32)),
        CityscapesClass("license plate", -1, -1, "vehicle", 7, False, True, (0, 0, 142)),
    ]

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        mode: str = "fine",
        target_type: list[str] | str = "instance",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        verify_str_arg(mode, "mode", _SPLITS)
        accepted = iterable_to_str(_SPLITS[mode])
        message = f"Unknown value '{split}' for argument split if mode is '{mode}'. Valid values are {{{accepted}}}."
        self.split = verify_str_arg(split, "split", _SPLITS[mode], message)
        self.mode = "gtFine" if mode == "fine" else "gtCoarse"
        types = [target_type] if isinstance(target_type, str) else target_type
        self.target_type = [verify_str_arg(kind, "target_type", _FILES) for kind in types]
        images, targets = self._folder / "leftImg8bit" / split, self._folder / self.mode / split
        self.images_dir, self.targets_dir = str(images), str(targets)
        if not (images.is_dir() and targets.is_dir()):
            self._unpack()
        files = sorted(images.glob("*/*"))
        self.images = [str(file) for file in files]
        self.targets = [
            [
                str(targets / file.parent.name / f"{file.name.split('_leftImg8bit')[0]}_{self.mode}_{_FILES[kind]}")
                for kind in self.target_type
            ]
            for file in files
        ]

    def _unpack(self) -> None:
        images = "leftImg8bit_trainextra.zip" if self.split == "train_extra" else "leftImg8bit_trainvaltest.zip"
        targets = "gtFine_trainvaltest.zip" if self.mode == "gtFine" else "gtCoarse.zip"
        if not all((self._folder / name).is_file() for name in (images, targets)):
            raise RuntimeError(
                "Dataset not found or incomplete. Please make sure all required folders for the specified "
                '"split" and "mode" are inside the "root" directory'
            )
        for name in (images, targets):
            extract_archive(self._folder / name, self._folder)

    @staticmethod
    def _read_target(kind: str, path: str) -> Any:
        return json.loads(Path(path).read_text(encoding="utf-8")) if kind == "polygon" else open_image(path)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        paths = zip(self.target_type, self.targets[index], strict=True)
        targets = tuple(self._read_target(kind, path) for kind, path in paths)
        return self._transformed(pil_loader(self.images[index]), targets if len(targets) > 1 else targets[0])

    def extra_repr(self) -> str:
        return f"Split: {self.split}\nMode: {self.mode}\nType: {self.target_type}"
