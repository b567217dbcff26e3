"""`torch.backends.openmp`: threads."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """True: work is distributed over threads."""
    return True
