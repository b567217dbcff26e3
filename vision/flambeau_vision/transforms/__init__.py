"""Transforms of PIL images and tensors: this package contains the classes, `.functional` the functions.

`.v2` contains the same classes for samples: images together with their boxes and masks.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import autoaugment, functional, transforms
from ._geometry import InterpolationMode
from .autoaugment import *  # noqa: F403
from .transforms import *  # noqa: F403

__all__ = ["InterpolationMode", "functional", "v2"]  # noqa: F405
__all__ += autoaugment.__all__ + transforms.__all__


def __getattr__(name: str) -> Any:
    if name in ("v2", "_functional_tensor"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
