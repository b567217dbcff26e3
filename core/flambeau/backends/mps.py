"""`torch.backends.mps`: Apple's Metal Performance Shaders, which are not in use."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False."""
    return False


def is_built() -> bool:
    """False."""
    return False
