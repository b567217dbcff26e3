"""`torch.backends.mha`: multi-head attention."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_fastpath = True


def get_fastpath_enabled() -> bool:
    """Whether transformer layers may be computed by fused operations."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Accepted; it says what `get_fastpath_enabled` returns."""
    global _fastpath
    _fastpath = value
