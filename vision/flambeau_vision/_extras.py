"""Optional packages: imported when first needed, with an error that says what to install."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from types import ModuleType
from typing import Any

__all__ = ["is_pil_image", "optional", "pillow", "progress_bar"]


@cache
def optional(module: str, package: str, purpose: str) -> ModuleType:
    """Import `module`, or say which `package` to install for `purpose`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{purpose} needs {module}: pip install {package}", name=module) from error


def pillow(submodule: str = "Image") -> ModuleType:
    """The Pillow module `PIL.<submodule>`; Pillow does all work on images that are files or PIL images."""
    return optional(f"PIL.{submodule}", "'flambeau[vision]'", "working with PIL images and image files")


def is_pil_image(value: Any) -> bool:
    """Whether `value` is a PIL image; does not import Pillow, since without it there are no PIL images."""
    image_module = sys.modules.get("PIL.Image")
    return image_module is not None and isinstance(value, image_module.Image)


class _SilentBar:
    """Takes the place of a progress bar if tqdm is not installed."""

    def __enter__(self) -> _SilentBar:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def update(self, amount: int) -> None:
        pass


def progress_bar(total: int | None, initial: int = 0, description: str | None = None, unit: str = "B") -> Any:
    """A tqdm bar that counts bytes, or what `unit` says, on a terminal; a silent substitute if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        return _SilentBar()
    return tqdm(total=total, initial=initial, desc=description, unit=unit, unit_scale=unit == "B", disable=None)
