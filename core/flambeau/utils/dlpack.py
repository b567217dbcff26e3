"""Sharing memory with other array libraries, by DLPack."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from ..creation import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor, which shares its memory."""
    return tensor.__dlpack__()
