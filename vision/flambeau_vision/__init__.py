"""Datasets, transforms, models and operations for computer vision, with the API of torchvision."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "datasets",
    "disable_beta_transforms_warning",
    "get_image_backend",
    "get_video_backend",
    "io",
    "models",
    "ops",
    "set_image_backend",
    "set_video_backend",
    "transforms",
    "tv_tensors",
    "utils",
]

__version__ = "0.28.0"  # version of torchvision whose API this package has

_SUBPACKAGES = {"datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils"}
_image_backend = "PIL"


def set_image_backend(backend: str) -> None:
    """Set the package that reads image files: `"PIL"` or `"accimage"`."""
    global _image_backend
    if backend not in ("PIL", "accimage"):
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'")
    _image_backend = backend


def get_image_backend() -> str:
    """Return the name of the package that reads image files."""
    return _image_backend


def set_video_backend(backend: str) -> None:
    """Do nothing: videos are always decoded by PyAV."""


def get_video_backend() -> str:
    """Return the name of the video decoder."""
    return "pyav"


def disable_beta_transforms_warning() -> None:
    """Do nothing: `transforms.v2` emits no beta warning."""


def __getattr__(name: str) -> Any:
    # Subpackages are imported when first used, so that `import torchvision` stays fast.
    if name in _SUBPACKAGES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
