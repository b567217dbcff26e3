"""The memory that arrays lie in: how far it reaches, whose it is, and that what was freed of it is kept.

An array may show a part of another one's memory, which NumPy calls its base. A *window* is an array that shows such a part as if
there were no more: a slice of a storage, or an array of the user's.

A training step frees what it allocated, and the next one allocates the same again.  glibc hands blocks over 128 KiB, and a
free top of its heap, back to the system at once, and every page that comes again costs a page fault, which is dearer than the
arithmetic on it: a step of a small network takes a third longer.
"""

from __future__ import annotations

import ctypes
import os
import sys
from mmap import mmap
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

__all__ = ["all_of", "as_dtype", "is_alone", "keep_freed_memory", "lender", "window"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT = 512 << 20  # bytes that may lie free at the top of the heap
_MAPPED = 32 << 20  # bytes from which on a block is given back at once; the most that glibc accepts


def keep_freed_memory() -> None:
    """Let up to 512 MiB of freed memory stay with the process.

    Nothing is changed where somebody has chosen: with one of glibc's own variables, `MALLOC_TRIM_THRESHOLD_` or
    `MALLOC_MMAP_THRESHOLD_`, in the environment, or with another C library or allocator.
    """
    chosen = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD"} & os.environ.keys()
    if chosen or not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED)


class _Window:
    """Stands between an array and the one whose memory it shows, as the end of the way from view to base."""

    def __init__(self, array: Any) -> None:
        address, read_only = array.__array_interface__["data"]
        if read_only:
            expanded = any(n > 1 and not step for n, step in zip(array.shape, array.strides, strict=True))
            read_only = expanded or isinstance(lender(array), mmap)  # to write to a read-only map ends the process
        self.base = array
        self.__array_interface__ = {**array.__array_interface__, "data": (address, read_only)}


def window(array: Any) -> Any:
    """The array as one of a memory of its own, that can be written to even if the array says that it should not."""
    if array.base is None and array.flags.writeable:
        return array
    made = np.asarray(_Window(array))
    return made if made.dtype == array.dtype else made.view(array.dtype)


def _base(array: Any) -> Any:
    """The array, without a base of this kind, that the memory of `array` is a part of."""
    while array.base is not None:
        below = array.base
        if not isinstance(below, np.ndarray):  # as_strided puts an object of its own between an array and its base
            below = None if isinstance(below, _Window) else getattr(below, "base", None)
            if not isinstance(below, np.ndarray):
                break
        array = below
    return array


def all_of(array: Any) -> Any:
    """All memory that an array is a part of, as one dimension."""
    base = _base(array)
    if base.ndim == 1 and base.flags.c_contiguous:
        return base
    extent = base.size
    if extent and not (base.flags.c_contiguous or base.flags.f_contiguous):
        extent = 1 + sum((n - 1) * step for n, step in zip(base.shape, base.strides, strict=True)) // base.itemsize
    return as_strided(base, (extent,), (base.itemsize,))


def as_dtype(flat: Any, dtype: Any) -> Any:
    """A one-dimensional memory as elements of a dtype, as many as there are whole ones."""
    if flat.dtype == dtype:
        return flat
    over = flat.nbytes % dtype.itemsize
    return (flat.view(np.uint8)[: flat.nbytes - over] if over else flat).view(dtype)


def lender(array: Any) -> Any:
    """The object whose memory an array lies in, such as a mapped file; None where it is NumPy's own."""
    below = _base(array).base
    return below.obj if isinstance(below, memoryview) else below


def is_alone(array: Any) -> bool:
    """Whether there is no other array of the same memory, nor any other name for this one than the caller's."""
    if _count_references(array) > _ONE_NAME:
        return False
    below = array.base
    while below is not None:
        if _count_references(below) > _ONE_NAME:
            return False
        below = below.obj if isinstance(below, memoryview) else getattr(below, "base", None)
    return True


def _count_references(thing: Any) -> int:
    return sys.getrefcount(thing)


def _measure(thing: Any) -> int:
    return _count_references(thing)


_held = [object()]
_ONE_NAME = _measure(_held[0])  # references to what has one name, and a local variable of a function that counts them
