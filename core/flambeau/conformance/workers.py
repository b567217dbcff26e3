"""Run checks in separate processes, so that a crash or hang loses only one check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from queue import Empty, Queue
from typing import Any, NamedTuple

from ..engine.devices.host import COMPUTED_ON_HOST
from .kit import Result, attempt, checks_of

__all__ = ["Done", "Options", "results_of"]

Event = tuple[str, Any]  # (family name, a Result, a Done, or the name of a check that starts)


class Done(NamedTuple):
    """The end of a family: its duration in seconds, and the operations that were computed on the CPU instead of the backend."""

    seconds: float
    on_host: list[str]


class Options:
    """Options of a run: the backend, the number of processes, the time limit of a check in seconds, and whether it is quick."""

    backend: str
    jobs: int
    limit: float
    quick: bool

    def __init__(self, backend: str, jobs: int = 1, limit: float = 120.0, quick: bool = False) -> None:
        self.backend, self.jobs, self.limit, self.quick = backend, jobs, limit, quick


def results_of(families: Sequence[str], options: Options, positions: Mapping[str, int]) -> Iterator[Event]:
    """Yield the events of a run; `jobs` processes check the families in order, each family from its number in `positions`."""
    waiting: Queue[tuple[str, int]] = Queue()
    events: Queue[Event | BaseException | None] = Queue()
    for family in families:
        waiting.put((family, positions.get(family, 0)))
    jobs = [threading.Thread(target=_work, args=(waiting, events, options), daemon=True) for _ in range(options.jobs)]
    for job in jobs:
        job.start()
    running = len(jobs)
    while running:
        event = events.get()
        if isinstance(event, BaseException):
            raise event
        if event is None:
            running -= 1
        else:
            yield event


def _work(waiting: Queue[tuple[str, int]], events: Queue[Any], options: Options) -> None:
    """Check families of operations one after the other in a worker process; start a new one if it exits or hangs."""
    worker = None
    try:
        for family, start in iter(partial(_next, waiting), None):
            begin = time.perf_counter()
            worker, on_host = _check(family, start, worker or _Worker(options), events, options)
            events.put((family, Done(time.perf_counter() - begin, on_host)))
        if worker is not None:
            worker.end()
    except BaseException as error:  # the thread that reads the events raises it
        events.put(error)
    events.put(None)


def _check(family: str, start: int, worker: _Worker, events: Queue[Any], options: Options) -> tuple[_Worker, list[str]]:
    """Check a family; return the last process, and the operations that were computed on the CPU.

    A check without a result is repeated once in a new process, as libraries crash or hang occasionally.
    """
    lost = _WorkerLost(start)
    while True:
        found = worker.check(family, lost, events)
        if not isinstance(found, _WorkerLost):
            return worker, found
        worker = _Worker(options)
        if found[:2] == lost[:2]:
            events.put((family, Result(found.name, "failed", found.reason)))
            found = _WorkerLost(found.position + 1)
        lost = found


def _next(waiting: Queue[tuple[str, int]]) -> tuple[str, int] | None:
    try:
        return waiting.get_nowait()
    except Empty:
        return None


class _WorkerLost(NamedTuple):
    """The check during which a process ended, and its position in the family; if `name` is empty, the position to start at."""

    position: int
    name: str = ""
    reason: str = ""


class _Worker:
    """A process that runs checks, and prints a line of JSON before and after each check.

    The environment variable `FLAMBEAU_CONFORMANCE` is "quick" or "full", so that plugins can skip compilation in quick runs.
    """

    def __init__(self, options: Options) -> None:
        self._limit = options.limit
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, options.backend, str(int(options.quick))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "FLAMBEAU_CONFORMANCE": "quick" if options.quick else "full"},
        )  # fmt: skip

    def check(self, family: str, lost: _WorkerLost, events: Queue[Any]) -> _WorkerLost | list[str]:
        """Run the checks of a family, starting at the position of a lost check.

        Return the check during which the process ended, or else the operations that were computed on the CPU.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([family, lost.position]) + "\n")
        self._process.stdin.flush()
        position, current, hung = lost.position - 1, "", threading.Event()
        timer = self._timer(hung, max(self._limit, 120.0))  # importing a library may take long
        for line in self._process.stdout:
            kind, value = json.loads(line)
            if kind == "done":
                timer.cancel()
                return list(value)
            if kind == "begin":
                timer.cancel()
                position, current = position + 1, value
                timer = self._timer(hung, self._limit)
                events.put((family, value))
            else:
                result = Result(*value)
                if result.name == lost.name and result.outcome == "passed":
                    result = replace(result, reason=f"{lost.reason} at the first attempt")
                events.put((family, result))
        timer.cancel()
        code = self._process.wait()
        reason = f"no result within {self._limit:g} s" if hung.is_set() else f"its process ended with exit code {code}"
        if not current:
            raise RuntimeError(f"the process for {family!r} ended before its first check: {reason}")
        return _WorkerLost(position, current, reason)

    def _timer(self, hung: threading.Event, seconds: float) -> threading.Timer:
        def kill() -> None:
            hung.set()
            self._process.kill()

        timer = threading.Timer(seconds, kill)
        timer.daemon = True
        timer.start()
        return timer

    def end(self) -> None:
        """Close the input of the process, and wait for its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


_PROGRAM = "import sys; from flambeau.conformance.workers import serve; serve(sys.argv[1], sys.argv[2] == '1')"


def serve(backend: str, quick: bool) -> None:
    """Main function of a worker process: run the families whose names it reads from standard input."""
    from .. import backend as backends

    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of libraries goes to standard error
    checked = backends.find(backend)
    device = checked.device_type
    for line in sys.stdin:
        family, start = json.loads(line)
        for position, check in enumerate(checks_of(family, device, quick)):
            if position >= start:
                print(json.dumps(["begin", check.name]), file=out)
                result = attempt(check, device)
                print(json.dumps(["result", [result.name, result.outcome, result.reason, result.trace]]), file=out)
        checked.clear_caches()  # the next family uses other shapes, for which compiled programs are not reused
        print(json.dumps(["done", sorted(COMPUTED_ON_HOST.get(backend, ()))]), file=out)
