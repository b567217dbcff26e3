"""The memory of arrays: its extent and owner, and settings that keep freed memory in the process.

An array may be a view of another one, which NumPy calls its base.  A *window* is a view that is treated as a separate memory
(storage): a slice of a storage, or an array that the user passed.

A training step frees what it allocated, and the next step allocates the same again.  glibc returns blocks over 128 KiB, and free
memory at the top of its heap, to the system immediately.  Each page that is mapped again costs a page fault, which takes longer
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
    "as_dtype",
    "as_strided",
    "is_all_of_unshared",
    "is_shared",
    "is_unaliased",
    "keep_freed_memory",
    "memory_owner",
    "whole_memory",
    "window",
]  # fmt: skip

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # constants in glibc's malloc.h
_KEPT = 512 << 20  # number of bytes that may stay free at the top of the heap
_MAPPED = 32 << 20  # size from which blocks are returned to the system when freed; the largest value that glibc accepts


def keep_freed_memory() -> None:
    """Keep up to 512 MiB of freed memory in the process.

    This has no effect if the user has configured the allocator, by `MALLOC_TRIM_THRESHOLD_` or `MALLOC_MMAP_THRESHOLD_` in the
    environment, or by another C library or allocator.
    """
    chosen = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD"} & os.environ.keys()
    if chosen or not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED)


def as_strided(array: Any, shape: Any, strides: Any) -> Any:
    """Like NumPy's `as_strided`, but also for dtypes that NumPy's array interface cannot describe, such as 8-bit floats."""
    if array.dtype.isbuiltin == 2:
        return stride_tricks.as_strided(array.view(_BYTES[array.itemsize]), shape, strides).view(array.dtype)
    return stride_tricks.as_strided(array, shape, strides)


_BYTES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class _Window:
    """The base of a window's array: `_base`, which follows views to their bases, stops at it."""

    def __init__(self, array: Any) -> None:
        address, read_only = array.__array_interface__["data"]
        if read_only:
            expanded = any(n > 1 and not stride for n, stride in zip(array.shape, array.strides, strict=True))
            read_only = expanded or isinstance(memory_owner(array), mmap)  # writing to a read-only mapping would crash
        self.base = array
        kind = {"typestr": "|u1"} if array.dtype.itemsize == 1 else {}
        self.__array_interface__ = {**array.__array_interface__, **kind, "data": (address, read_only)}


def window(array: Any) -> Any:
    """View an array as a separate memory that `memory_owner` returns an owner for; it cannot be resized.

    The view is writable if possible, even if the array is flagged read-only.
    """
    if array.flags.writeable and array.dtype.isbuiltin == 1:  # dtypes of ml_dtypes have no memoryview
        return np.asarray(memoryview(array))
    view = np.asarray(_Window(array))
    return view if view.dtype == array.dtype else view.view(array.dtype)


def _base(array: Any) -> Any:
    """Follow the bases of a view to the array that owns the memory, or to the array of the enclosing window."""
    while array.base is not None:
        below = array.base
        if not isinstance(below, np.ndarray):  # as_strided inserts a helper object between view and base
            below = None if isinstance(below, _Window) else getattr(below, "base", None)
            if not isinstance(below, np.ndarray):
                break
        array = below
    return array


def whole_memory(array: Any) -> Any:
    """Return all memory of the array's base (see `_base`) as a one-dimensional array."""
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
    """Reinterpret a one-dimensional array as another dtype, dropping trailing bytes that do not fill an element."""
    if flat.dtype == dtype:
        return flat
    over = flat.nbytes % dtype.itemsize
    return (flat.view(np.uint8)[: flat.nbytes - over] if over else flat).view(dtype)


def memory_owner(array: Any) -> Any:
    """Return the object that owns the memory of an array, such as a mapped file; None if NumPy owns it."""
    below = _base(array).base
    return below.obj if isinstance(below, memoryview) else below


def allocation(array: Any) -> Any:
    """Return the object that owns the memory; the same for all views and windows of it."""
    while (below := _below(array)) is not None:
        array = below
    return array


def _below(array: Any) -> Any:
    return array.obj if isinstance(array, memoryview) else getattr(array, "base", None)


def is_shared(array: Any) -> bool:
    """Whether the memory is shared with other processes: the owner's attribute `is_shared`."""
    owner = memory_owner(array)
    while isinstance(owner, (_Window, np.ndarray)):
        owner = memory_owner(owner if isinstance(owner, np.ndarray) else owner.base)
    return getattr(owner, "is_shared", False)


def is_unaliased(array: Any) -> bool:
    """Whether no other array shares the memory, and only the caller holds a reference to this one."""
    if _count_references(array) > _SINGLE_REFERENCE:
        return False
    below = array.base
    while below is not None:
        if _count_references(below) > _SINGLE_REFERENCE:
            return False
        below = _below(below)
    return True


def is_all_of_unshared(view: Any) -> bool:
    """Whether `view` is a dense view of all of an array that owns its memory and has no other references."""
    below = view.base
    return (
        type(below) is np.ndarray
        and below.flags.owndata
        and below.nbytes == view.nbytes
        and view.flags.forc
        and _count_references(below) <= _SINGLE_REFERENCE
    )


def _count_references(thing: Any) -> int:
    return sys.getrefcount(thing)


def _measure(thing: Any) -> int:
    return _count_references(thing)


_held = [object()]
_SINGLE_REFERENCE = _measure(_held[0])  # the count that `_measure` returns for an object with one reference
