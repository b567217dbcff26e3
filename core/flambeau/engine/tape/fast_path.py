"""The types of tensors that take the fast path of a call; none while a mode must receive every call.

In `inference_mode`, generated functions take it as well, and mark their results (`results.mark_inference`).
"""

from __future__ import annotations

from ..values.forking import new_lock

__all__ = ["FAST", "IN_INFERENCE", "PLAIN", "leave_fast_path", "register_plain", "return_to_fast_path"]

FAST: set[type] = set()  # tensor types that take the fast path; empty while a mode must receive every call
PLAIN: set[type] = set()  # the types of FAST, also while `inference_mode` is the only such mode: for code that marks its results
IN_INFERENCE: list[bool] = []  # not empty while a thread is in `inference_mode`
_registered: set[type] = set()  # the types that are in FAST while no such mode is active
_slow_modes = 0
_inference_modes = 0  # how many of them are `inference_mode`
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
        _registered.add(cls)
        _fill()


def _count_modes(change: int, inference: bool) -> None:
    global _slow_modes, _inference_modes
    with _lock:
        _slow_modes += change
        _inference_modes += change * inference
        _fill()


def _fill() -> None:
    """Fill the sets according to the active modes.  A set that keeps its types is not emptied, as other threads read it."""
    IN_INFERENCE[:] = [True] if _inference_modes else []
    for types, is_filled in ((FAST, not _slow_modes), (PLAIN, _slow_modes == _inference_modes)):
        if is_filled:
            types.update(_registered)
        else:
            types.clear()
