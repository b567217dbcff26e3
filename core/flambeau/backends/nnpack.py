"""`torch.backends.nnpack`: a library of layers for small processors, which is not in use."""

from __future__ import annotations

from contextlib import AbstractContextManager

from .switches import changed

__all__ = ["enabled", "flags", "is_available", "set_flags"]

enabled = True


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool) -> bool:
    """Set `enabled`; returns its previous value."""
    global enabled
    before, enabled = enabled, _enabled
    return before


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Context with this setting."""
    return changed(globals(), enabled=enabled)
