"""Memory-mapped files."""

from __future__ import annotations

import mmap
import os

__all__ = ["MappedFile", "map_file"]


class MappedFile(mmap.mmap):
    """A memory-mapped file; `filename` is set if writes go to the file."""

    filename: str | None = None
    is_shared = True  # read by the NumPy backend's `is_shared`


def map_file(filename: str, shared: bool | None, nbytes: int) -> MappedFile | None:
    """Map the first `nbytes` of a file into memory; return None for 0 bytes, which cannot be mapped.

    Args:
        filename: the path of the file.
        shared: whether writes go to the file, which is created or extended if necessary.
        nbytes: the number of bytes.

    Raises:
        TypeError: `filename` is not a string.
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
        size = os.fstat(descriptor).st_size
        if nbytes < 0:
            raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{filename}>")
        if size < nbytes and not shared:
            raise RuntimeError(f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        if size < nbytes:
            os.ftruncate(descriptor, nbytes)
        mapped = MappedFile(descriptor, nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)
    mapped.filename = filename if shared else None
    return mapped
