"""Locks that a fork leaves in a usable state: the child process has none of the threads that could release a lock."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

__all__ = ["new_lock"]

_locks: WeakSet[Any] = WeakSet()
_acquired: list[Any] = []  # while this process forks
_WAIT = 1.0  # seconds: a signal handler may fork while its own thread holds a lock


def new_lock(reentrant: bool = False) -> Any:
    """Return a lock that is held during a fork, so that no other thread is changing what it protects, and is then released.

    A thread can acquire a reentrant lock several times.
    """
    lock: Any = threading.RLock() if reentrant else threading.Lock()
    _locks.add(lock)
    return lock


def _acquire() -> None:
    _acquired[:] = [lock for lock in list(_locks) if lock.acquire(timeout=_WAIT)]


def _release() -> None:
    while _acquired:
        _acquired.pop().release()


def _renew() -> None:
    _acquired.clear()
    for lock in list(_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_renew)
