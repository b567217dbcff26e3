"""Which types of tensors take the fast path of a call: none, while a mode has to see every call."""

from __future__ import annotations

__all__ = ["FAST", "leave_fast_path", "register_plain", "return_to_fast_path"]

FAST: set[type] = set()  # tensor types that take the fast path; emptied while a mode has to see every call
_PLAIN: set[type] = set()  # the contents of FAST at other times
_slow_modes = 0


def leave_fast_path() -> None:
    """Send every call through `dispatch`, until `return_to_fast_path` has been called as often."""
    global _slow_modes
    _slow_modes += 1
    FAST.clear()


def return_to_fast_path() -> None:
    """Undo one `leave_fast_path`."""
    global _slow_modes
    _slow_modes -= 1
    if not _slow_modes:
        FAST.update(_PLAIN)


def register_plain(cls: type) -> None:
    """Let a type of tensors that overrides no operation, such as Tensor itself or Parameter, take the fast path."""
    _PLAIN.add(cls)
    if not _slow_modes:
        FAST.add(cls)
