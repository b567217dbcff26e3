"""Import optional packages on first use, with an error that names the package to install."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from types import ModuleType
from typing import Any

__all__ = ["is_pil_image", "optional", "pillow", "progress_bar"]


@cache
def optional(module: str, package: str, purpose: str) -> ModuleType:
    """Import and return `module`. If it is missing, the error names the `package` to install for `purpose`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{purpose} needs {module}: pip install {package}", name=module) from error


def pillow(submodule: str = "Image") -> ModuleType:
    """Import and return the Pillow module `PIL.<submodule>`."""
    return optional(f"PIL.{submodule}", "pillow", "working with PIL images and image files")


def is_pil_image(value: Any) -> bool:
    """Whether `value` is a PIL image. This does not import Pillow: if no one has imported it, no PIL image exists."""
    image_module = sys.modules.get("PIL.Image")
    return image_module is not None and isinstance(value, image_module.Image)


class _SilentBar:
    """Replacement for a tqdm progress bar that prints nothing."""

    def __enter__(self) -> _SilentBar:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def update(self, amount: int) -> None:
        pass


def progress_bar(total: int | None, initial: int = 0, description: str | None = None, unit: str = "B") -> Any:
    """Return a tqdm bar that counts `unit` (bytes by default) on a terminal, or a silent bar if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        return _SilentBar()
    return tqdm(total=total, initial=initial, desc=description, unit=unit, unit_scale=unit == "B", disable=None)
