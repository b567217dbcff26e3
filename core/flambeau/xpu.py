"""`torch.xpu`: Intel's devices, which are not supported.

>>> import flambeau as torch
>>> torch.xpu.is_available()
False
"""

from __future__ import annotations

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """Zero."""
    return 0
