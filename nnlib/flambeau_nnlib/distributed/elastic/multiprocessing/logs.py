"""Where the output of started processes goes: to files, to this process's output, or both."""

from __future__ import annotations

import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import IO, Any

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "Std"]


class Std(IntFlag):
    """Streams of a process."""

    NONE, OUT, ERR = 0, 1, 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Streams of all processes (`"3"`), or of each (`"0:1,1:2"`).

        >>> Std.from_str("0:3,1:0")[0] == Std.ALL
        True

        Raises:
            ValueError: neither.
        """
        try:
            if ":" not in vm:
                return cls(int(vm))
            return {int(rank): cls(int(streams)) for rank, _, streams in (part.partition(":") for part in vm.split(","))}
        except ValueError as error:
            raise ValueError(f"{vm!r} does not match '0' to '3' or '<rank>:<0 to 3>,...'") from error


@dataclass
class LogsDest:
    """Where the streams of one process go: files, or None for this process's own; and whether they are shown besides."""

    stdout: Path | None
    stderr: Path | None
    tees: Std
    error_file: Path
    shown: bool = True


class LogsSpecs(ABC):
    """Decides where the output of processes goes.

    Args:
        log_dir: a folder for files; a temporary one by default.
        redirects: which streams go to files, of all processes or by local rank.
        tee: which go to files and are shown.
        local_ranks_filter: whose streams are shown at all; None for all.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        self._root_log_dir, self._redirects, self._tee = log_dir, redirects, tee
        self._local_ranks_filter = local_ranks_filter

    @property
    @abstractmethod
    def root_log_dir(self) -> str:
        """The folder."""

    @abstractmethod
    def destination(self, run_id: str, attempt: int, local_rank: int) -> LogsDest:
        """Where the streams of a process go."""


class DefaultLogsSpecs(LogsSpecs):
    """Files `stdout.log`, `stderr.log` and `error.json` in a folder for each run, attempt and local rank."""

    _run_dir: str | None = None

    @property
    def root_log_dir(self) -> str:
        """The folder."""
        if self._root_log_dir is None:
            self._root_log_dir = tempfile.mkdtemp(prefix="flambeau-run-")
        return self._root_log_dir

    def destination(self, run_id: str, attempt: int, local_rank: int) -> LogsDest:
        """Where the streams of a process go."""
        if self._run_dir is None:
            Path(self.root_log_dir).mkdir(parents=True, exist_ok=True)
            self._run_dir = tempfile.mkdtemp(prefix=f"{run_id}_", dir=self.root_log_dir)
        folder = Path(self._run_dir) / f"attempt_{attempt}" / str(local_rank)
        folder.mkdir(parents=True, exist_ok=True)
        tees = _of(self._tee, local_rank)
        to_files = _of(self._redirects, local_rank) | tees
        shown = self._local_ranks_filter is None or local_rank in self._local_ranks_filter
        return LogsDest(
            folder / "stdout.log" if to_files & Std.OUT or not shown else None,
            folder / "stderr.log" if to_files & Std.ERR or not shown else None,
            tees if shown else Std.NONE,
            folder / "error.json",
            shown,
        )


def _of(streams: Std | Mapping[int, Std], local_rank: int) -> Std:
    return streams if isinstance(streams, Std) else streams.get(local_rank, Std.NONE)


def copy_to(source: IO[bytes], file: IO[bytes], shown: Any, prefix: str) -> threading.Thread:
    """Copy a stream to a file, and to another stream with a prefix on each line, in a thread."""

    def copy() -> None:
        with file:
            for line in source:
                file.write(line)
                file.flush()
                shown.write(prefix + line.decode(errors="replace"))
                shown.flush()

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread
