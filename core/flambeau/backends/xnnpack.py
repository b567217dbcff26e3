"""`torch.backends.xnnpack`: XNNPACK, a library of layers for mobile CPUs, which is not in use."""

from __future__ import annotations

__all__ = ["enabled"]

enabled: bool = False
