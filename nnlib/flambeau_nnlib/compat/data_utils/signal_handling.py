"""Errors in the main process when a worker process of a custom loader dies, as torchdata's loader requests them."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable
from types import FrameType

__all__: list[str] = []

_pids: dict[int, frozenset[int]] = {}  # {id of a loader: the processes of its workers}
_installed = False


def _set_worker_signal_handlers() -> None:
    """Make a worker process that is terminated exit without an error, because loaders terminate workers at exit."""
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))


def _set_worker_pids(loader_id: int, pids: Iterable[int]) -> None:
    """Watch the worker processes of a loader.

    Raises:
        ValueError: the loader's workers are already watched.
    """
    if loader_id in _pids:
        raise ValueError("_set_worker_pids should be called only once for each _BaseDataLoaderIter.")
    _pids[loader_id] = frozenset(pids)


def _remove_worker_pids(loader_id: int) -> None:
    """Stop watching the workers of a loader.

    Raises:
        ValueError: they are not watched.
    """
    if _pids.pop(loader_id, None) is None:
        raise ValueError(f"Cannot find worker information for _BaseDataLoaderIter with id {loader_id}")


def _error_if_any_worker_fails() -> None:
    """Raise RuntimeError if a watched worker has been killed by a signal or has exited with an error."""
    if sys.platform == "win32" or not hasattr(os, "waitid"):  # Windows and macOS before Python 3.13
        return
    for loader_id, pids in _pids.items():
        for pid in pids:
            try:
                result = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # the process has been joined
                continue
            if result is None or (result.si_code == os.CLD_EXITED and result.si_status == 0):
                continue
            _pids[loader_id] = frozenset()  # raise once
            if result.si_code == os.CLD_EXITED:
                raise RuntimeError(
                    f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {result.si_status}. Details are lost due "
                    "to multiprocessing. Rerunning with num_workers=0 may give better error trace."
                )
            raise RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(result.si_status)}. ")


def _set_SIGCHLD_handler() -> None:
    """Make the main thread raise an error as soon as a watched worker dies. Other handlers of the signal are still called."""
    global _installed
    if _installed or not hasattr(signal, "SIGCHLD") or threading.current_thread() is not threading.main_thread():
        return
    previous = signal.getsignal(signal.SIGCHLD)

    def handler(number: int, frame: FrameType | None) -> None:
        _error_if_any_worker_fails()
        if callable(previous):
            previous(number, frame)

    signal.signal(signal.SIGCHLD, handler)
    _installed = True
