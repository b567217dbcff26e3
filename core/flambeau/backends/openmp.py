"""`torch.backends.openmp`: whether operations use several CPU threads."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Return True: CPU operations use several threads."""
    return True
