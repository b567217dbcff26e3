"""`torch.backends.mkl`: Intel's Math Kernel Library, which is not in use."""

from __future__ import annotations

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available"]

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Return False: MKL is not used."""
    return False
