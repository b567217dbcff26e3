"""Running a function in several processes, and reporting failures."""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.connection
import pickle
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flambeau.extension import require_processes

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

TERMINATION_PERIOD = 30.0  # seconds that processes are given to exit after SIGTERM


class ProcessException(Exception):
    """Base class of errors that report a failed process: its index `error_index` and its process id `error_pid`."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process failed with an exception; the message contains its traceback."""


class ProcessExitedException(ProcessException):
    """A process exited with `exit_code`, or was ended by the signal `signal_name`."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


class ProcessContext:
    """Processes started together by `start_processes`."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the process ids in index order."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until some process ends. Call it again while it returns False.

        Args:
            timeout: maximum number of seconds to wait; None for no limit.
            grace_period: seconds that the other processes have to exit after one has failed, before they are
                terminated; None to terminate them immediately.

        Returns:
            True once all processes have succeeded.

        Raises:
            ProcessRaisedException: the function raised an exception in a process.
            ProcessExitedException: a process exited with a nonzero status or was ended by a signal.
        """
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout) if self.sentinels else ():
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._stop_all(grace_period)
                raise self._failure(index)
        return not self.sentinels

    def _stop_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait_for_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._wait_for_all(TERMINATION_PERIOD if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _wait_for_all(self, period: float) -> None:
        end = time.monotonic() + period
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _failure(self, index: int) -> ProcessException:
        pid, exitcode = self.processes[index].pid, self.processes[index].exitcode
        report = Path(self.error_files[index])
        if report.exists():
            trace = pickle.loads(report.read_bytes())
            message = f"\n\n-- Process {index} terminated with the following error:\n{trace}"
            return ProcessRaisedException(message, index, pid)
        if exitcode >= 0:
            message = f"process {index} terminated with exit code {exitcode}"
            return ProcessExitedException(message, index, pid, exitcode)
        try:
            name = signal.Signals(-exitcode).name
        except ValueError:
            name = f"<Unknown signal {-exitcode}>"
        return ProcessExitedException(f"process {index} terminated with signal {name}", index, pid, exitcode, name)


class SpawnContext(ProcessContext):
    """Deprecated name of `ProcessContext`."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(index, *args)` in `nprocs` processes, with `index` from 0.

    Args:
        fn: the function. With the start methods `"spawn"` and `"forkserver"` it must be importable by name.
        args: its arguments after the index.
        nprocs: the number of processes.
        join: whether to wait for the processes.
        daemon: whether to start daemon processes.
        start_method: the start method of `multiprocessing`.

    Returns:
        None, or with `join=False` the `ProcessContext` of the processes.

    Raises:
        ProcessRaisedException: the function raised an exception in a process.
        ProcessExitedException: a process exited with a nonzero status or was ended by a signal.
    """
    require_processes("torch.multiprocessing.start_processes()")
    mp = multiprocessing.get_context(start_method)
    # Processes report failures in files: a process that dies while it writes to a queue would leave the queue locked.
    directory = tempfile.mkdtemp(prefix="flambeau-errors-")
    processes, error_files = [], []
    for index in range(nprocs):
        error_file = str(Path(directory, f"{index}.pickle"))
        job = (fn, index, args, error_file)
        process = mp.Process(target=_run, args=job, daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
        error_files.append(error_file)
    context = ProcessContext(processes, error_files)
    weakref.finalize(context, shutil.rmtree, directory, ignore_errors=True)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(index, *args)` in `nprocs` new interpreters; `fn` must be importable by name.

    Args:
        fn: the function.
        args: its arguments after the index.
        nprocs: the number of processes.
        join: whether to wait for the processes.
        daemon: whether to start daemon processes.
        start_method: deprecated; use `start_processes` for a start method other than `"spawn"`.

    Returns:
        None, or with `join=False` the `ProcessContext` of the processes.

    Raises:
        ProcessRaisedException: the function raised an exception in a process.
        ProcessExitedException: a process exited with a nonzero status or was ended by a signal.
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], error_file: str) -> None:
    _end_with_parent()
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # by Ctrl-C, which interrupts the parent also, or by the end of the parent
    except Exception:
        Path(error_file).write_bytes(pickle.dumps(traceback.format_exc()))
        sys.exit(1)


def _end_with_parent() -> None:
    """Let the kernel interrupt this process when its parent ends (Linux only)."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGINT)
