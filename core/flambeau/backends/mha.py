"""`torch.backends.mha`: the fast path of multi-head attention."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_fastpath = True


def get_fastpath_enabled() -> bool:
    """Whether transformer layers may use fused operations; the setting has no effect here."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Set the value that `get_fastpath_enabled` returns; it has no other effect."""
    global _fastpath
    _fastpath = value
