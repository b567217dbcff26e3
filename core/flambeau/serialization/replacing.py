"""Replace a file atomically: at every moment the path has the complete old file or the complete new one."""

from __future__ import annotations

import ctypes
import io
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, Any

__all__ = ["atomic_write"]

_BUFFER_SIZE = 1 << 18  # small records are collected and written together, up to this number of bytes
_SYNC_SIZE = 1 << 22  # number of written bytes after which the file is flushed to the disk


@contextmanager
def atomic_write(f: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, and rename it to the path `f` once all data has reached the disk.

    If the `with` block raises an error, the temporary file is removed and the file at the path is unchanged.  Temporary files
    of killed processes that wrote to the same path are removed.

    Raises:
        RuntimeError: the folder does not exist.
    """
    path = os.path.realpath(f)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(f))} does not exist.")
    if os.path.exists(path) and not os.path.isfile(path):  # devices and pipes are written directly, not replaced
        with open(path, "wb") as file:
            yield file
        return
    _remove_stale_files(path)
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        with io.BufferedWriter(_EagerFile(temporary, "xb"), _BUFFER_SIZE) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


class _EagerFile(io.FileIO):
    """A file whose data is sent to the disk early, while more data is written, so that the final `fsync` takes less time.

    Linux otherwise keeps written data in memory until `fsync`.
    """

    _written = 0
    _synced = 0

    def write(self, data: Any) -> int:
        written: int = super().write(data)
        self._written += written
        if self._written - self._synced >= _SYNC_SIZE:
            _start_writing(self.fileno(), self._synced, self._written - self._synced)
            self._synced = self._written
        return written


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return function


def _start_writing(descriptor: int, start: int, count: int) -> None:
    """Start to write a part of a file to the disk, without waiting (Linux only)."""
    function = _sync_file_range()
    if function is not None:
        start_and_return = 2  # the flag SYNC_FILE_RANGE_WRITE of `sync_file_range`
        function(descriptor, start, count, start_and_return)


def _remove_stale_files(path: str) -> None:
    """Remove temporary files for `path` of processes that no longer exist."""
    folder, name = os.path.split(path)
    temporary = re.compile(re.escape(name) + r"\.(\d+)\.\d+\.tmp")
    with suppress(OSError), os.scandir(folder) as entries:  # a folder may be writable but not listable
        for entry in entries:
            match = temporary.fullmatch(entry.name)
            if match and not _process_exists(int(match[1])):
                with suppress(OSError):  # another process may have removed it
                    os.unlink(entry.path)


def _process_exists(process: int) -> bool:
    """Whether a process exists.

    On Windows `os.kill(process, 0)` would end the process.  Therefore return False there: Windows does not
    let the caller remove the open temporary file of a running process.
    """
    if process == os.getpid():
        return True
    if sys.platform == "win32":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
