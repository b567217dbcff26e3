"""Error reports of the processes that a launcher starts."""

from __future__ import annotations

import functools
import json
import os
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "ProcessFailure", "record"]

F = TypeVar("F", bound=Callable[..., Any])
VARIABLE = "TORCHELASTIC_ERROR_FILE"


@dataclass
class ProcessFailure:
    """The failure of one process. The message is read from `error_file` if that exists."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    message: str = ""
    timestamp: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        path = Path(self.error_file)
        if path.is_file():
            self.message = json.loads(path.read_text(encoding="utf-8"))["message"]["message"]
        elif not self.message:
            self.message = f"Signal {-self.exitcode} received by PID {self.pid}" if self.exitcode < 0 else ""


class ChildFailedError(Exception):
    """Raised by a launcher when at least one of its processes failed.

    Args:
        name: the program that the processes ran.
        failures: the failures by global rank.
    """

    def __init__(self, name: str, failures: Mapping[int, ProcessFailure]) -> None:
        self.name, self.failures = name, dict(failures)
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """Return the rank that failed first, and its failure."""
        return min(self.failures.items(), key=lambda item: item[1].timestamp)

    def format_msg(self) -> str:
        """Return a report of all failures; the first failure is listed last, as root cause."""
        first, _ = self.get_first_failure()
        others = "\n".join(self._described(rank) for rank in sorted(self.failures) if rank != first)
        line = "=" * 60
        return (
            f"\n{line}\n{self.name} FAILED\n{'-' * 60}\nFailures:\n{others or '  <NO_OTHER_FAILURES>'}\n{'-' * 60}\n"
            f"Root Cause (first observed failure):\n{self._described(first)}\n{line}"
        )

    def _described(self, rank: int) -> str:
        failure = self.failures[rank]
        told = failure.message or "decorate the main function with torch.distributed.elastic.multiprocessing.errors.record"
        when = time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(failure.timestamp))
        return (
            f"  time      : {when}\n  host      : {socket.gethostname()}\n"
            f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
            f"  exitcode  : {failure.exitcode} (pid: {failure.pid})\n  error_file: {failure.error_file or '<N/A>'}\n"
            f"  traceback : {told}"
        )


def record(fn: F) -> F:
    """Decorate the main function of a program to report its exception to the launcher, through a file.

    >>> @record
    ... def main() -> int:
    ...     return 3
    >>> main()
    3
    """

    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except BaseException:
            path = os.environ.get(VARIABLE)
            if path:
                told = {"message": traceback.format_exc(), "extraInfo": {"timestamp": str(int(time.time()))}}
                Path(path).write_text(json.dumps({"message": told}), encoding="utf-8")
            raise

    return recorded  # type: ignore[return-value]
