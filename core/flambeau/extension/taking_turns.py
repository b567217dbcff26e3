"""Threads that call compiled functions or load data: they run at the same time, but while one captures a call, others wait.

A capture replaces the arrays of all tensors in the process, and the comparison after it resets all random generators.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident

__all__ = ["computing", "exclusive", "replaying", "waiting"]

replaying: list[int] = []  # the identifiers of the threads that replay calls or load data
_LONGEST_CAPTURE, _LONGEST_REPLAY = 60.0, 2.0  # seconds to wait: the other thread may be waiting for this one


class _Exclusive:
    """A lock with which only one thread calls compiled functions. The same thread can acquire it again.

    Attributes:
        is_taken: whether a thread has the lock.
        waits: whether the thread that has the lock waits for other threads, which therefore may compute.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._depth = 0
        self._owner = 0
        self.is_taken = self.waits = False

    def acquire(self) -> bool:
        """Wait for the other threads; return False if one captures for too long, as it may be waiting for this thread."""
        thread = get_ident()
        count = replaying.count(thread)
        _leave(count)  # while it waits, this thread does not compute
        try:
            if not self._lock.acquire(timeout=_LONGEST_CAPTURE):
                return False
        finally:
            replaying.extend([thread] * count)
        self._depth += 1
        self._owner, self.is_taken = thread, True
        end = time.monotonic() + _LONGEST_REPLAY
        while any(other != thread for other in list(replaying)) and time.monotonic() < end:
            time.sleep(1e-4)
        return True

    def release(self) -> None:
        self._depth -= 1
        self.is_taken = self._depth > 0
        self._lock.release()

    def excludes(self, thread: int) -> bool:
        """Whether another thread has the lock, and does not wait for others."""
        return self.is_taken and not self.waits and self._owner != thread

    def is_owned(self) -> bool:
        """Whether this thread has the lock."""
        return self.is_taken and self._owner == get_ident()


exclusive = _Exclusive()


@contextmanager
def computing() -> Iterator[None]:
    """Context in which this thread computes with tensors. It is entered when no other thread captures a call."""
    _enter(1)
    try:
        yield
    finally:
        _leave(1)


@contextmanager
def waiting() -> Iterator[None]:
    """Context in which this thread waits for other threads, which may compute meanwhile even if this thread captures a call."""
    if exclusive.is_owned():
        exclusive.waits = True
        try:
            yield
        finally:
            exclusive.waits = False
        return
    count = replaying.count(get_ident())
    _leave(count)
    try:
        yield
    finally:
        _enter(count)


def _enter(count: int) -> None:
    thread, end = get_ident(), time.monotonic() + _LONGEST_CAPTURE
    replaying.extend([thread] * count)
    while count and exclusive.excludes(thread) and time.monotonic() < end:
        _leave(count)
        time.sleep(1e-3)
        replaying.extend([thread] * count)


def _leave(count: int) -> None:
    for _ in range(count):
        replaying.remove(get_ident())
