"""Threads that call compiled functions: replays run at the same time, but while one thread captures a call, the others wait.

A capture replaces the arrays of all tensors in the process until the call has ended.
"""

from __future__ import annotations

import time
from threading import RLock, get_ident

__all__ = ["exclusive", "replaying"]

replaying: list[int] = []  # the identifiers of the threads that replay calls
_LONGEST_CAPTURE, _LONGEST_REPLAY = 60.0, 2.0  # seconds to wait: the other thread may be waiting for this one


class _Exclusive:
    """A lock with which only one thread calls compiled functions. The same thread can acquire it again.

    Attributes:
        is_taken: whether a thread has the lock.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._depth = 0
        self.is_taken = False

    def acquire(self) -> bool:
        """Wait for the other threads; return False if one captures for too long, as it may be waiting for this thread."""
        if not self._lock.acquire(timeout=_LONGEST_CAPTURE):
            return False
        self._depth += 1
        self.is_taken = True
        thread, end = get_ident(), time.monotonic() + _LONGEST_REPLAY
        while any(other != thread for other in list(replaying)) and time.monotonic() < end:
            time.sleep(1e-4)
        return True

    def release(self) -> None:
        self._depth -= 1
        self.is_taken = self._depth > 0
        self._lock.release()


exclusive = _Exclusive()
