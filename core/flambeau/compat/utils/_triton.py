"""Report Triton as unavailable: its kernels cannot read flambeau's arrays."""

from __future__ import annotations

__all__ = ["has_triton", "has_triton_package"]


def has_triton_package() -> bool:
    """Return False, even if Triton is installed."""
    return False


def has_triton() -> bool:
    """Return False, even if Triton is installed."""
    return False
