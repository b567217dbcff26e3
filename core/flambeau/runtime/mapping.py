"""Files mapped into memory."""

from __future__ import annotations

import mmap
import os

__all__ = ["MappedFile", "map_file"]


class MappedFile(mmap.mmap):
    """A file in memory; with `filename`, where writes reach it."""

    filename: str | None = None


def map_file(filename: str, shared: bool | None, nbytes: int) -> MappedFile | None:
    """The first `nbytes` of a file, mapped; None for none of it, because that cannot be mapped.

    Args:
        filename: the path of the file.
        shared: whether writes reach the file, which is made, or grows, if need be.
        nbytes: how many bytes.

    Raises:
        TypeError: `filename` is no string.
        RuntimeError: the file cannot be opened, or is too small.
    """
    if not isinstance(filename, str):
        raise TypeError(f"argument 1 must be str, not {type(filename).__name__}")
    if not nbytes:
        return None
    mode = "read-write" if shared else "read-only"
    try:
        descriptor = os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})") from error
    try:
        given = os.fstat(descriptor).st_size
        if nbytes < 0:
            raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{filename}>")
        if given < nbytes and not shared:
            raise RuntimeError(f"file <{filename}> size <{given}> is smaller than the required mapping size <{nbytes}>")
        if given < nbytes:
            os.ftruncate(descriptor, nbytes)
        mapped = MappedFile(descriptor, nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)
    mapped.filename = filename if shared else None
    return mapped
