"""Redirection of the output of started processes to files, to the launcher's output, or to both."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import IO, Any

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "Std"]


class Std(IntFlag):
    """Standard output and error streams of a process."""

    NONE, OUT, ERR = 0, 1, 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Parse a choice of streams: one for all processes (`"3"`), or one for each local rank (`"0:1,1:2"`).

        >>> Std.from_str("0:3,1:0")[0] == Std.ALL
        True

        Raises:
            ValueError: the text has neither form.
        """
        try:
            if ":" not in vm:
                return cls(int(vm))
            return {int(rank): cls(int(streams)) for rank, _, streams in (part.partition(":") for part in vm.split(","))}
        except ValueError as error:
            raise ValueError(f"{vm!r} does not match '0' to '3' or '<rank>:<0 to 3>,...'") from error


@dataclass
class LogsDest:
    """Destination of one process's streams: a file each, or None for the launcher's stream. Streams in `tees` are also shown."""

    stdout: Path | None
    stderr: Path | None
    tees: Std
    error_file: Path
    shown: bool = True


class LogsSpecs(ABC):
    """Base class of objects that choose where the output of each process is written.

    Args:
        log_dir: folder of the log files; default: a temporary one.
        redirects: streams written to files, for all processes or by local rank.
        tee: streams written to files and also shown.
        local_ranks_filter: local ranks whose streams are shown; None for all.
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
        """Return the folder of the log files."""

    @abstractmethod
    def destination(self, run_id: str, attempt: int, local_rank: int) -> LogsDest:
        """Return the destination of a process's streams."""


class DefaultLogsSpecs(LogsSpecs):
    """Write `stdout.log`, `stderr.log` and `error.json` to a folder for each run, attempt and local rank."""

    _run_dir: str | None = None

    @property
    def root_log_dir(self) -> str:
        """Return the folder of the log files; create a temporary one if none was given, which is removed if it stays empty."""
        if self._root_log_dir is None:
            self._root_log_dir = tempfile.mkdtemp(prefix="flambeau-run-")
            weakref.finalize(self, _remove_empty_folders, self._root_log_dir)  # at exit at the latest
        return self._root_log_dir

    def destination(self, run_id: str, attempt: int, local_rank: int) -> LogsDest:
        """Return the destination of a process's streams."""
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


def _remove_empty_folders(folder: str) -> None:
    """Remove a folder and the folders in it, except those that contain files."""
    for path, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def _of(streams: Std | Mapping[int, Std], local_rank: int) -> Std:
    return streams if isinstance(streams, Std) else streams.get(local_rank, Std.NONE)


def copy_to(source: IO[bytes], file: IO[bytes], shown: Any, prefix: str) -> threading.Thread:
    """Start a thread that copies a stream to a file, and to `shown` with a prefix on each line."""

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
