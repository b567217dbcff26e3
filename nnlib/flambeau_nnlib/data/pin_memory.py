"""Copying batches to pinned memory."""

from __future__ import annotations

from typing import Any

from flambeau.extension import private_names

from .collate import is_nested, map_structure

__all__ = ["pin_memory"]

__getattr__ = private_names(__name__)


def pin_memory(data: Any, device: Any = None) -> Any:
    """Copy the tensors in `data`, and other objects with a `pin_memory` method, to pinned memory.

    Args:
        data: a tensor, or a structure of tensors such as a batch.
        device: accepted for compatibility and ignored; memory is pinned for the available accelerator.
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if is_nested(data):
        return map_structure(pin_memory, data, data, tuple)
    return data
