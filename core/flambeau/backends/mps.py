"""`torch.backends.mps`: Apple's Metal Performance Shaders, which are not used."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos_or_newer"]


def is_available() -> bool:
    """Return False: no MPS device is available."""
    return False


def is_built() -> bool:
    """Return False: MPS is not supported."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Raise RuntimeError: MPS devices are not supported."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")
