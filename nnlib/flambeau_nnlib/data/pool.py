"""The worker processes of a loader. Each has a queue of tasks and a pipe for results."""

from __future__ import annotations

import multiprocessing.connection
import multiprocessing.util
import os
import pickle
import signal
import time
import warnings
import weakref
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Any

from .channel import receive
from .worker import Job, run_worker

__all__ = ["WorkerPool"]

SHUTDOWN_PERIOD = 5.0  # seconds until a worker that does not exit is terminated


class WorkerPool:
    """Worker processes that run `run_worker`.

    Each worker returns its results in the order of its tasks, over its own pipe. If a worker dies, its pipe closes, so the
    main process notices immediately and no lock remains held.
    """

    def __init__(self, context: Any, jobs: Iterable[Job]) -> None:
        self.processes: list[Any] = []
        self.tasks: list[Any] = []
        self.results: list[Connection] = []
        self._stop = context.RawValue("b", 0)  # has no lock, because a killed worker would never release it
        self._finalizer = weakref.finalize(self, _shut_down, os.getpid(), self.processes, self.tasks, self.results, self._stop)
        for job in jobs:
            self._start(context, job)

    def _start(self, context: Any, job: Job) -> None:
        tasks = context.Queue()
        tasks.cancel_join_thread()  # do not wait at exit until the queue is read: the worker may be dead
        parent_end, worker_end = context.Pipe()
        # A forked worker closes its copy of the parent's end: otherwise the pipe would stay open when the parent dies.
        multiprocessing.util.register_after_fork(parent_end, Connection.close)
        process = context.Process(target=run_worker, args=(job, tasks, worker_end, self._stop), daemon=True)
        try:
            process.start()
        except (TypeError, AttributeError, pickle.PicklingError):
            warnings.warn(
                "Got pickle error when attempting to start a worker Process. This might be because the "
                "worker Process arguments are not picklable. Python 3.14+ changed the multiprocessing start "
                "method in non-Mac POSIX platforms to 'forkserver', which requires the worker Process "
                "arguments to be picklable. You can also try multiprocessing.set_start_method('fork').",
                stacklevel=2,
            )
            raise
        finally:
            worker_end.close()  # now only the worker has `worker_end` open, so its death closes the pipe
        self.processes.append(process)
        self.tasks.append(tasks)
        self.results.append(parent_end)

    def put(self, worker: int, task: Any) -> None:
        """Queue a task for `worker`. None stops the worker."""
        self.tasks[worker].put(task)

    def get(self, workers: Iterable[int], timeout: float) -> tuple[int, Any]:
        """Wait for a result from any of `workers` and return (worker, result). `timeout` is in seconds; 0 waits forever.

        Raise RuntimeError after the timeout or if a worker died.
        """
        sources: dict[Any, int] = {}
        workers = sorted(workers)
        for worker in workers:
            sources[self.results[worker]] = sources[self.processes[worker].sentinel] = worker
        ready = multiprocessing.connection.wait(sources, timeout or None)
        if not ready:
            late = " and ".join(f"worker {worker} (pid {self.processes[worker].pid})" for worker in workers)
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds while waiting for a batch from {late}")
        worker = sources[ready[0]]
        try:
            if self.results[worker].poll():
                return worker, receive(self.results[worker])
            raise EOFError
        except (EOFError, ConnectionResetError):
            process = self.processes[worker]
            process.join(SHUTDOWN_PERIOD)
            raise RuntimeError(f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly") from _cause(process)

    def close(self) -> None:
        """Stop all workers. Terminate those that do not exit within `SHUTDOWN_PERIOD`."""
        self._finalizer()


def _cause(process: Any) -> RuntimeError:
    code = process.exitcode
    if code is not None and code < 0:
        text = f"is killed by signal: {signal.strsignal(-code)}. "
    else:
        text = (
            f"exited unexpectedly with exit code {code}. Details are lost due to multiprocessing. "
            "Rerunning with num_workers=0 may give better error trace."
        )
    return RuntimeError(f"DataLoader worker (pid {process.pid}) {text}")


def _shut_down(owner: int, processes: list[Any], tasks: list[Any], results: list[Connection], stop: Any) -> None:
    if os.getpid() != owner:
        return  # a forked copy of the process that owns the workers must not stop them
    stop.value = 1
    for queue in tasks:
        queue.put(None)
    end = time.monotonic() + SHUTDOWN_PERIOD
    pipes: set[Any] = set(results)
    running = {process.sentinel for process in processes}
    while running and (left := end - time.monotonic()) > 0:
        for source in multiprocessing.connection.wait([*running, *pipes], left):
            if source in running:
                running.remove(source)
            elif not _drain(source):
                pipes.remove(source)
    for process in processes:
        for end_by_force in (process.terminate, process.kill):
            if process.is_alive():
                end_by_force()
                process.join(SHUTDOWN_PERIOD)
    for pipe in results:
        pipe.close()
    for queue in tasks:
        queue.close()


def _drain(pipe: Any) -> bool:
    """Discard pending output of a worker, so that a blocked send returns. Return False once the worker closed its end."""
    try:
        return bool(os.read(pipe.fileno(), 1 << 16))
    except OSError:
        return False
