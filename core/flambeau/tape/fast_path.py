"""Which types of tensors take the generated path of a call; while a mode wants to see every call, none does."""

from __future__ import annotations

__all__ = ["FAST", "leave_fast_path", "register_plain", "return_to_fast_path"]

FAST: set[type] = set()  # tensor types that take the generated path; emptied while a mode wants to see every call
_PLAIN: set[type] = set()  # what FAST holds otherwise
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
    """Let a type of tensors that changes no operation (Tensor itself, Parameter) take the generated path."""
    _PLAIN.add(cls)
    if not _slow_modes:
        FAST.add(cls)
