"""Which arrays a kernel of this pack takes; the NumPy backend's own kernel takes all others.

Small arrays, dtypes other than float32, and whatever a kernel declines (it returns None) go to the kernel that it replaces,
so that errors, broadcasting, dtypes and empty arrays are that one's business alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from flambeau_backends.numpy import kernels as numpy_kernels

__all__ = ["IN_PLACE", "KERNELS", "fast", "fast_in_place", "is_dense", "process"]

Kernel = Callable[..., Any]

KERNELS: dict[str, Kernel] = {}
IN_PLACE: dict[str, Kernel] = {}
FLOAT = np.dtype(np.float32)


class Process:
    """What is known about this process."""

    forked = False  # after a fork, OpenMP's threads are gone, and to wait for them would be forever

    def leave_threads_alone(self) -> None:
        self.forked = True


process = Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process.leave_threads_alone)


def fast(least: int, of: int = 0) -> Callable[[Kernel], Kernel]:
    """Register a kernel under its name, for float32 arrays of ``least`` elements; argument ``of`` is the one looked at."""

    def register(kernel: Kernel) -> Kernel:
        name = kernel.__name__.rstrip("_")
        KERNELS[name] = _choosing(kernel, numpy_kernels.KERNELS[name], least, of)
        return kernel

    return register


def fast_in_place(least: int) -> Callable[[Kernel], Kernel]:
    """The same for a kernel that writes into its first argument, and returns whether it did."""

    def register(kernel: Kernel) -> Kernel:
        name = kernel.__name__.rstrip("_")
        IN_PLACE[name] = _choosing(kernel, numpy_kernels.INPLACE[name], least, 0)
        return kernel

    return register


def _choosing(kernel: Kernel, plain: Kernel, least: int, of: int) -> Kernel:
    def chosen(*args: Any, **options: Any) -> Any:
        array = args[of]
        if array.size >= least and array.dtype is FLOAT and not process.forked:
            made = kernel(*args, **options)
            if made is not None:
                return made
        return plain(*args, **options)

    return chosen


def is_dense(*arrays: Any) -> bool:
    """Whether all are float32 in row-major order."""
    return all(each.dtype is FLOAT and each.flags.c_contiguous for each in arrays)
