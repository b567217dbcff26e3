"""The types of tensors that take the fast path of a call; none while a mode must receive every call."""

from __future__ import annotations

from ..values.forking import new_lock

__all__ = ["FAST", "PLAIN_IN_INFERENCE", "leave_fast_path", "register_plain", "return_to_fast_path"]

FAST: set[type] = set()  # tensor types that take the fast path; empty while a mode must receive every call
PLAIN_IN_INFERENCE: set[type] = set()  # the types of FAST while `inference_mode`, in any thread, is the only reason to empty it
_PLAIN: set[type] = set()  # the types that are in FAST while no such mode is active
_slow_modes = 0
_inference_modes = 0  # how many of them are `inference_mode`, in which results need only be marked
_lock = new_lock()  # threads enter and exit modes at the same time


def leave_fast_path(*, inference: bool = False) -> None:
    """Let every call go through `dispatch`, until `return_to_fast_path` has been called equally often.

    Args:
        inference: whether the caller is `inference_mode`.
    """
    _count_modes(1, inference)


def return_to_fast_path(*, inference: bool = False) -> None:
    """Undo one call of `leave_fast_path` with the same argument."""
    _count_modes(-1, inference)


def register_plain(cls: type) -> None:
    """Let a tensor type that overrides no operation, such as Tensor or Parameter, take the fast path."""
    with _lock:
        _PLAIN.add(cls)
        _fill()


def _count_modes(change: int, inference: bool) -> None:
    global _slow_modes, _inference_modes
    with _lock:
        _slow_modes += change
        _inference_modes += change * inference
        _fill()


def _fill() -> None:
    """Fill the sets according to the active modes.  A set that keeps its types is not emptied, as other threads read it."""
    for types, is_filled in ((FAST, not _slow_modes), (PLAIN_IN_INFERENCE, 0 < _slow_modes == _inference_modes)):
        if is_filled:
            types.update(_PLAIN)
        else:
            types.clear()
