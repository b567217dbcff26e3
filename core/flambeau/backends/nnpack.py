"""`torch.backends.nnpack`: settings of NNPACK, a library of layers for mobile CPUs, which is not in use."""

from __future__ import annotations

from contextlib import AbstractContextManager

from .switches import changed

__all__ = ["enabled", "flags", "is_available", "set_flags"]

enabled: bool = True


def is_available() -> bool:
    """Return False: NNPACK is not used."""
    return False


def set_flags(_enabled: bool) -> bool:
    """Set `enabled` and return its previous value."""
    global enabled
    before, enabled = enabled, _enabled
    return before


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Return a context in which `enabled` has the given value."""
    return changed(globals(), enabled=enabled)
