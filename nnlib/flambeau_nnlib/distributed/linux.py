"""Linux system calls between processes of one host: futexes on shared memory, and reading another process's memory.

On other systems, or where a sandbox forbids the calls, `Futex.works` and `can_read` are False and callers use slower
ways. `yield_processor` works on every system.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import time
from functools import partial
from typing import Any

__all__ = ["Futex", "allow_reads", "can_read", "read", "yield_processor"]

yield_processor = getattr(os, "sched_yield", partial(time.sleep, 0))

_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}  # system call number by processor; the C library has no function for it
_WAIT, _WAKE, _ALL = 0, 1, 2**31 - 1
_PR_SET_PTRACER = 0x59616D61


def _library() -> Any:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "process_vm_readv"):
        return None
    library.process_vm_readv.restype = ctypes.c_ssize_t
    library.process_vm_readv.argtypes = [ctypes.c_int, *(ctypes.c_void_p, ctypes.c_ulong) * 2, ctypes.c_ulong]
    library.syscall.restype = ctypes.c_long
    library.syscall.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    library.prctl.argtypes = [ctypes.c_int, *(ctypes.c_ulong,) * 4]
    return library


_LIBRARY = _library()


class _Seconds(ctypes.Structure):
    _fields_ = (("whole", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Range(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Futex:
    """A futex: processes sleep until a word of shared memory changes, for at most `seconds` per call of `wait`."""

    def __init__(self, seconds: float) -> None:
        self._number = _FUTEX.get(platform.machine()) if _LIBRARY is not None and sys.byteorder == "little" else None
        self.works = self._number is not None
        self._limit = ctypes.byref(_Seconds(int(seconds), int(seconds % 1 * 1e9)))

    def wait(self, address: int, value: int) -> None:
        """Sleep while the 32-bit word at `address` equals `value`, until `wake` or the time limit."""
        _LIBRARY.syscall(self._number, address, _WAIT, value & 0x7FFFFFFF, self._limit)

    def wake(self, address: int) -> None:
        """Wake all processes that wait at `address`."""
        _LIBRARY.syscall(self._number, address, _WAKE, _ALL, None)


def allow_reads() -> None:
    """Allow descendants of the parent process to read this one's memory, which the Yama security module forbids by default."""
    if _LIBRARY is not None and os.getppid() > 1:  # 1 is the ancestor of all processes: it would allow all of them
        _LIBRARY.prctl(_PR_SET_PTRACER, os.getppid(), 0, 0, 0)


def can_read(process: int, address: int, expected: bytes) -> bool:
    """Whether this process may read the memory of `process`, checked by comparing the bytes at `address` with `expected`."""
    found = ctypes.create_string_buffer(len(expected))
    try:
        read(process, address, ctypes.addressof(found), len(expected))
    except OSError:
        return False
    return found.raw == expected


def read(process: int, address: int, target: int, length: int) -> None:
    """Copy `length` bytes at `address` in another process to `target` in this process.

    Raises:
        OSError: the process has ended, or the system does not allow reading its memory.
    """
    if _LIBRARY is None:
        raise OSError("this system does not let processes read each other's memory")
    done = 0
    while done < length:
        here, there = _Range(target + done, length - done), _Range(address + done, length - done)
        count = _LIBRARY.process_vm_readv(process, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if count <= 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        done += count
