"""The memory of arrays: its extent, its owner, and keeping freed memory with the process.

An array may be a view of another one, which NumPy calls its base. A *window* is a view that is treated as if it were a whole
memory of its own: a slice of a storage, or an array of the user's.

A training step frees what it allocated, and the next one allocates the same again.  glibc returns blocks over 128 KiB,
and the free top of its heap, to the system at once. Every page that is mapped again then costs a page fault, which takes longer
than the arithmetic on it: a step of a small network takes a third longer.
"""

from __future__ import annotations

import ctypes
import os
import sys
from mmap import mmap
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

__all__ = [
    "all_of",
    "as_dtype",
    "as_strided",
    "is_all_of_unshared",
    "is_shared",
    "is_unaliased",
    "keep_freed_memory",
    "memory_owner",
    "window",
]  # fmt: skip

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT = 512 << 20  # bytes that may stay free at the top of the heap
_MAPPED = 32 << 20  # size from which on a freed block is returned at once; the largest that glibc accepts


def keep_freed_memory() -> None:
    """Let up to 512 MiB of freed memory stay with the process.

    Does nothing if the user has configured the allocator, by `MALLOC_TRIM_THRESHOLD_` or `MALLOC_MMAP_THRESHOLD_` in the
    environment or by another C library or allocator.
    """
    chosen = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD"} & os.environ.keys()
    if chosen or not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED)


def as_strided(array: Any, shape: Any, strides: Any) -> Any:
    """NumPy's `as_strided`, also for dtypes that its description of memory has no code for, such as 8-bit floating-point ones."""
    if array.dtype.isbuiltin == 2:
        return stride_tricks.as_strided(array.view(_BYTES[array.itemsize]), shape, strides).view(array.dtype)
    return stride_tricks.as_strided(array, shape, strides)


_BYTES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class _Window:
    """The base object of a window, at which `_base` stops walking from views to bases."""

    def __init__(self, array: Any) -> None:
        address, read_only = array.__array_interface__["data"]
        if read_only:
            expanded = any(n > 1 and not stride for n, stride in zip(array.shape, array.strides, strict=True))
            read_only = expanded or isinstance(memory_owner(array), mmap)  # writing to a read-only map would crash the process
        self.base = array
        kind = {"typestr": "|u1"} if array.dtype.itemsize == 1 else {}
        self.__array_interface__ = {**array.__array_interface__, **kind, "data": (address, read_only)}


def window(array: Any) -> Any:
    """A view of the array that counts as a memory of its own, writable even where the array is flagged read-only."""
    if array.base is None and array.flags.writeable:
        return array
    view = np.asarray(_Window(array))
    return view if view.dtype == array.dtype else view.view(array.dtype)


def _base(array: Any) -> Any:
    """The array that owns the memory of `array`, or the window that it is a view of."""
    while array.base is not None:
        below = array.base
        if not isinstance(below, np.ndarray):  # as_strided inserts an object of its own between view and base
            below = None if isinstance(below, _Window) else getattr(below, "base", None)
            if not isinstance(below, np.ndarray):
                break
        array = below
    return array


def all_of(array: Any) -> Any:
    """The whole memory that an array is a view of, as a one-dimensional array."""
    base = _base(array)
    if base.ndim == 1 and base.flags.c_contiguous:
        return base
    if base.flags.c_contiguous:
        return base.reshape(-1)  # much cheaper than `as_strided`
    extent = base.size
    if extent and not base.flags.f_contiguous:
        extent = 1 + sum((n - 1) * stride for n, stride in zip(base.shape, base.strides, strict=True)) // base.itemsize
    return as_strided(base, (extent,), (base.itemsize,))


def as_dtype(flat: Any, dtype: Any) -> Any:
    """Reinterpret a one-dimensional array as another dtype; bytes that do not fill an element are left out."""
    if flat.dtype == dtype:
        return flat
    over = flat.nbytes % dtype.itemsize
    return (flat.view(np.uint8)[: flat.nbytes - over] if over else flat).view(dtype)


def memory_owner(array: Any) -> Any:
    """The object that owns the memory of an array, such as a mapped file; None if NumPy owns it."""
    below = _base(array).base
    return below.obj if isinstance(below, memoryview) else below


def is_shared(array: Any) -> bool:
    """Whether the object that lends the memory says that other processes may map it too."""
    owner = memory_owner(array)
    while isinstance(owner, _Window):
        owner = memory_owner(owner.base)
    return getattr(owner, "is_shared", False)


def is_unaliased(array: Any) -> bool:
    """Whether no other array shares the memory, and only the caller refers to this one."""
    if _count_references(array) > _ONE_NAME:
        return False
    below = array.base
    while below is not None:
        if _count_references(below) > _ONE_NAME:
            return False
        below = below.obj if isinstance(below, memoryview) else getattr(below, "base", None)
    return True


def is_all_of_unshared(view: Any) -> bool:
    """Whether this is a dense view of all of an array that owns its memory, and to which nothing else refers."""
    below = view.base
    return (
        type(below) is np.ndarray
        and below.flags.owndata
        and below.nbytes == view.nbytes
        and view.flags.forc
        and _count_references(below) <= _ONE_NAME
    )


def _count_references(thing: Any) -> int:
    return sys.getrefcount(thing)


def _measure(thing: Any) -> int:
    return _count_references(thing)


_held = [object()]
_ONE_NAME = _measure(_held[0])  # reference count, seen in a function, of an object with one other reference
