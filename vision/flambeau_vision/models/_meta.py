"""Class names of published weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from ..transforms._presets import ImageClassification
from ._api import SITE, Weights

__all__ = ["COCO_CATEGORIES", "VOC_CATEGORIES", "CategoriesInFile", "imagenet", "imagenet_categories"]


class CategoriesInFile(Sequence):
    """Sequence of class names, read on first access from a file in this folder with one name per line."""

    def __init__(self, file: str, count: int) -> None:
        self.file = file
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: Any) -> Any:
        return _lines(self.file)[index]

    def __repr__(self) -> str:
        return repr(_lines(self.file))


@cache
def _lines(file: str) -> list[str]:
    return Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()


def imagenet_categories() -> list[str]:
    """Return the 1,000 class names of ImageNet, ordered by class index. Each is the first of several names in WordNet."""
    return _lines("imagenet_categories.txt")


def imagenet(file: str, num_params: int, crop_size: int = 224, resize_size: int = 256, **transform: Any) -> Weights:
    """Return the weights of an ImageNet classifier, published as `{file}.pth`."""
    prepare = partial(ImageClassification, crop_size=crop_size, resize_size=resize_size, **transform)
    return Weights(
        f"{SITE}{file}.pth", prepare, {"categories": CategoriesInFile("imagenet_categories.txt", 1000), "num_params": num_params}
    )


VOC_CATEGORIES = """
    __background__ aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person
    pottedplant sheep sofa train tvmonitor
""".split()  # noqa: SIM905

# The name at index i has the category id i in COCO. N/A marks unused ids.
_COCO_NAMES = """
    __background__ person bicycle car motorcycle airplane bus train truck boat traffic-light fire-hydrant N/A stop-sign
    parking-meter bench bird cat dog horse sheep cow elephant bear zebra giraffe N/A backpack umbrella N/A N/A handbag
    tie suitcase frisbee skis snowboard sports-ball kite baseball-bat baseball-glove skateboard surfboard tennis-racket
    bottle N/A wine-glass cup fork knife spoon bowl banana apple sandwich orange broccoli carrot hot-dog pizza donut
    cake chair couch potted-plant bed N/A dining-table N/A N/A toilet N/A tv laptop mouse remote keyboard cell-phone
    microwave oven toaster sink refrigerator N/A book clock vase scissors teddy-bear hair-drier toothbrush
"""
COCO_CATEGORIES = [name.replace("-", " ") for name in _COCO_NAMES.split()]
