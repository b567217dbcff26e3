"""What the C library does with memory that arrays gave back: keep it, instead of asking the system for it anew each time.

A training step frees what it allocated, and the next one allocates the same again.  glibc hands blocks over 128 KiB, and a
free top of its heap, back to the system at once, and every page that comes again costs a page fault, which is dearer than the
arithmetic on it: a step of a small network takes a third longer.
"""

from __future__ import annotations

import ctypes
import os
import sys

__all__ = ["keep_freed_memory"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT = 512 << 20  # bytes that may lie free at the top of the heap
_MAPPED = 32 << 20  # bytes from which on a block is given back at once; the most that glibc accepts


def keep_freed_memory() -> None:
    """Let up to 512 MiB of freed memory stay with the process.

    Nothing is changed where somebody has chosen: with one of glibc's own variables, ``MALLOC_TRIM_THRESHOLD_`` or
    ``MALLOC_MMAP_THRESHOLD_``, in the environment, or with another C library or allocator.
    """
    chosen = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD"} & os.environ.keys()
    if chosen or not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED)
