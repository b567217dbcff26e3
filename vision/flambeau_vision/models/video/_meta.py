"""Published weights of video models."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...transforms._presets import VideoClassification
from .._api import SITE, Weights
from .._meta import CategoriesInFile

__all__ = ["kinetics"]


def kinetics(
    file: str, num_params: int, crop_size: tuple[int, int], resize_size: tuple[int] | tuple[int, int], **colours: Any
) -> Weights:
    """Return weights for the 400 classes of Kinetics, published as `file.pth`.

    `colours` can contain the `mean` and `std` of the colour channels, which the preprocessing uses.
    """
    prepare = partial(VideoClassification, crop_size=crop_size, resize_size=resize_size, **colours)
    categories = CategoriesInFile("kinetics400_categories.txt", 400)
    return Weights(f"{SITE}{file}.pth", prepare, {"categories": categories, "num_params": num_params})
