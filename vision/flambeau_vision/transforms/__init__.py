"""Transforms of images, for PIL images and tensors: classes here, functions in :mod:`.functional`.

:mod:`.v2` has the same classes for whole samples: images with their boxes and masks.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import functional
from ._geometry import InterpolationMode
from .autoaugment import *  # noqa: F403
from .autoaugment import __all__ as _augmentations
from .transforms import *  # noqa: F403
from .transforms import __all__ as _transforms

__all__ = ["InterpolationMode", "functional", "v2", *_augmentations, *_transforms]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name == "v2":
        return importlib.import_module(".v2", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
