"""Replacing a file in one step: at every moment there is the old one or the whole new one."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

__all__ = ["replaced"]


@contextmanager
def replaced(f: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of the one at a path when all has been written and has reached the disk.

    Files that processes left behind when they were killed while writing to this path are removed.

    Raises:
        RuntimeError: the folder does not exist.
    """
    path = os.path.realpath(f)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(f))} does not exist.")
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe
        with open(path, "wb") as file:
            yield file
        return
    _remove_left_behind(path)
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        with open(temporary, "xb") as file:
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


def _remove_left_behind(path: str) -> None:
    """Remove the temporary files for a path whose processes no longer run."""
    folder, name = os.path.split(path)
    temporary = re.compile(re.escape(name) + r"\.(\d+)\.\d+\.tmp")
    with suppress(OSError), os.scandir(folder) as entries:  # a folder that may be written to, but not listed
        for entry in entries:
            match = temporary.fullmatch(entry.name)
            if match and not _runs(int(match[1])):
                with suppress(OSError):  # another save was faster
                    os.unlink(entry.path)


def _runs(process: int) -> bool:
    """Whether a process exists.  On Windows, where asking would end it, no file that is open can be removed anyway."""
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
