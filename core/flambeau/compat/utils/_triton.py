"""Whether Triton is available.  It is not: its kernels cannot read flambeau's arrays."""

from __future__ import annotations

__all__ = ["has_triton", "has_triton_package"]


def has_triton_package() -> bool:
    """False."""
    return False


def has_triton() -> bool:
    """False."""
    return False
