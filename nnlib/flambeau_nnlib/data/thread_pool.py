"""The worker threads of a loader. Each has a queue of tasks; they share a queue of results."""

from __future__ import annotations

import collections
import contextvars
import os
import queue
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Any

from flambeau.extension.taking_turns import waiting

from .worker import Job, run_worker_thread

__all__ = ["ThreadPool"]

SHUTDOWN_PERIOD = 5.0  # seconds to wait for threads that do not end


class _Stop:
    """The flag that makes the threads skip their tasks."""

    value = False


class _Ended:
    """The result of a thread that an exception such as SystemExit has ended."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class ThreadPool:
    """Worker threads that run `run_worker_thread`. The methods are those of `WorkerPool`.

    A thread cannot be terminated: one that does not return from the dataset's code remains, without effect, until it returns
    or the program ends.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.threads: list[threading.Thread] = []
        self.tasks: list[queue.SimpleQueue[Any]] = []
        self._results: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._received: list[collections.deque[Any]] = []  # results by worker, taken from the queue but not yet returned
        self._stop = _Stop()
        self._finalizer = weakref.finalize(self, _shut_down, os.getpid(), self.threads, self.tasks, self._stop)
        for job in jobs:
            self._start(job)

    def _start(self, job: Job) -> None:
        tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # A new context: modes such as `no_grad` are not inherited, with any Python.
        call, arguments = contextvars.Context().run, (_run, job, tasks, self._results, self._stop)
        thread = threading.Thread(target=call, args=arguments, name=f"flambeau loader {job.worker_id}", daemon=True)
        thread.start()
        self.threads.append(thread)
        self.tasks.append(tasks)
        self._received.append(collections.deque())

    def put(self, worker: int, task: Any) -> None:
        """Queue a task for `worker`. None stops the worker."""
        self.tasks[worker].put(task)

    def get(self, workers: Iterable[int], timeout: float) -> tuple[int, Any]:
        """Wait for a result from any of `workers` and return (worker, result). `timeout` is in seconds; 0 waits forever.

        Raise RuntimeError after the timeout or if SystemExit or KeyboardInterrupt has ended a worker.
        """
        workers, end = sorted(workers), time.monotonic() + timeout
        while True:
            for worker in workers:
                if self._received[worker]:
                    return worker, self._take(worker)
            try:
                left = max(end - time.monotonic(), 0) if timeout else None
                with waiting():  # the workers may compute, even if this thread captures a call
                    worker, result = self._results.get(timeout=left)
            except queue.Empty:
                late = " and ".join(f"worker {worker} (thread {self.threads[worker].name!r})" for worker in workers)
                message = f"DataLoader timed out after {timeout} seconds while waiting for a batch from {late}"
                raise RuntimeError(message) from None
            self._received[worker].append(result)

    def _take(self, worker: int) -> Any:
        result = self._received[worker][0]
        if isinstance(result, _Ended):  # not removed, so that later calls raise again
            raise RuntimeError(f"DataLoader worker (thread {self.threads[worker].name!r}) exited unexpectedly") from result.error
        return self._received[worker].popleft()

    def close(self) -> None:
        """Stop all workers. Wait at most `SHUTDOWN_PERIOD` for those that load a batch."""
        self._finalizer()


def _run(job: Job, tasks: queue.SimpleQueue[Any], results: queue.SimpleQueue[tuple[int, Any]], stop: _Stop) -> None:
    try:
        run_worker_thread(job, tasks.get, lambda result: results.put((job.worker_id, result)), stop)
    except BaseException as error:
        results.put((job.worker_id, _Ended(error)))


def _shut_down(owner: int, threads: list[threading.Thread], tasks: list[queue.SimpleQueue[Any]], stop: _Stop) -> None:
    if os.getpid() != owner:
        return  # a fork has no copy of the threads
    stop.value = True
    for queued in tasks:
        queued.put(None)
    end = time.monotonic() + SHUTDOWN_PERIOD
    with waiting():
        for thread in threads:
            if thread is not threading.current_thread():  # a collection of garbage in a worker can free its pool
                thread.join(max(end - time.monotonic(), 0))
