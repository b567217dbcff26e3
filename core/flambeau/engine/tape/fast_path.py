"""The types of tensors that take the fast path of a call; none while a mode must receive every call."""

from __future__ import annotations

from ..values.forking import new_lock

__all__ = ["FAST", "leave_fast_path", "register_plain", "return_to_fast_path"]

FAST: set[type] = set()  # tensor types that take the fast path; empty while a mode must receive every call
_PLAIN: set[type] = set()  # the types that are in FAST while no such mode is active
_slow_modes = 0
_lock = new_lock()  # threads enter and exit modes at the same time


def leave_fast_path() -> None:
    """Let every call go through `dispatch`, until `return_to_fast_path` has been called equally often."""
    global _slow_modes
    with _lock:
        _slow_modes += 1
        FAST.clear()


def return_to_fast_path() -> None:
    """Undo one call of `leave_fast_path`."""
    global _slow_modes
    with _lock:
        _slow_modes -= 1
        if not _slow_modes:
            FAST.update(_PLAIN)


def register_plain(cls: type) -> None:
    """Let a tensor type that overrides no operation, such as Tensor or Parameter, take the fast path."""
    with _lock:
        _PLAIN.add(cls)
        if not _slow_modes:
            FAST.add(cls)
