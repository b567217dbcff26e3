"""`torch.backends.mkldnn`: settings of oneDNN, Intel's library of neural network layers, which is not in use."""

from __future__ import annotations

from contextlib import AbstractContextManager

from .switches import changed

__all__ = ["allow_tf32", "deterministic", "enabled", "flags", "is_available", "set_flags"]

enabled: bool = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Return False: oneDNN is not used."""
    return False


def set_flags(_enabled: bool) -> bool:
    """Set `enabled` and return its previous value."""
    global enabled
    before, enabled = enabled, _enabled
    return before


def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> AbstractContextManager[None]:
    """Return a context in which the given settings apply."""
    return changed(globals(), enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
