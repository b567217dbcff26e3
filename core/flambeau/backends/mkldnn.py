"""`torch.backends.mkldnn`: Intel's library of layers, which is not in use."""

from __future__ import annotations

from contextlib import AbstractContextManager

from .switches import changed

__all__ = ["allow_tf32", "deterministic", "enabled", "flags", "is_available", "set_flags"]

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool) -> bool:
    """Set `enabled`; returns its previous value."""
    global enabled
    before, enabled = enabled, _enabled
    return before


def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> AbstractContextManager[None]:
    """Context with these settings."""
    return changed(globals(), enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
