"""One permanent thread per device, because libraries store handles, caches and the current device per thread."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from flambeau import backend as backends
from flambeau import device
from flambeau.engine.values.forking import new_lock
from flambeau.engine.values.systems import WEBASSEMBLY

__all__ = ["Worker", "run_on", "worker"]


class Worker:
    """The thread of one device.  It runs calls with that device current, in a copy of the caller's context.

    On WebAssembly, which has no threads, `submit` runs the call.
    """

    def __init__(self, place: device) -> None:
        self._guard = backends.for_device_type(place.type).guard
        self._index = place.index or 0
        self._tasks: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=f"flambeau {place}", daemon=True)
        if not WEBASSEMBLY:
            self._thread.start()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Run `call` in the thread; immediately if the caller is that thread, which would otherwise wait for itself."""
        future: Future[Any] = Future()
        context = copy_context()
        task = future, lambda: context.run(call)
        if WEBASSEMBLY:
            with self._guard(self._index):
                _run_task(*task)
        elif threading.current_thread() is self._thread:
            _run_task(*task)
        else:
            self._tasks.put(task)
        return future

    def _serve(self) -> None:
        with self._guard(self._index):
            while True:
                _run_task(*self._tasks.get())


def _run_task(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)


_workers: dict[tuple[str, int], Worker] = {}
_lock = new_lock()


def worker(place: device) -> Worker:
    """Return the worker of a device, creating it on first use."""
    key = place.type, place.index or 0
    with _lock:
        if key not in _workers:
            _workers[key] = Worker(place)
        return _workers[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.clear)  # a forked process does not have the parent's threads


def run_on(devices: Sequence[device], calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run each call concurrently on its device; return results in order, or the exception of a failed call in its place."""
    futures = [worker(place).submit(call) for place, call in zip(devices, calls, strict=True)]
    return [future.exception() or future.result() for future in futures]
