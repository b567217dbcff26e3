"""Which arrays a kernel of this pack takes; the NumPy backend's own kernel takes all others.

Small arrays, dtypes other than float32, and whatever a kernel declines (it returns None) go to the kernel that it replaces,
so that errors, broadcasting, dtypes and empty arrays are that one's business alone.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import kernels as numpy_kernels

__all__ = ["IN_PLACE", "KERNELS", "Declined", "fast", "fast_in_place", "is_dense", "process"]

Kernel = Callable[..., Any]

KERNELS: dict[str, Kernel] = {}
IN_PLACE: dict[str, Kernel] = {}
FLOAT = np.dtype(np.float32)
_LEAST = os.environ.get("FLAMBEAU_FAST_LEAST")  # elements from which on to use any kernel, for tests with small arrays


class Declined(Exception):
    """A kernel cannot serve after all."""


class Process:
    """What is known about this process."""

    forked = False  # after a fork, OpenMP's threads are gone, and to wait for them would be forever

    def leave_threads_alone(self) -> None:
        self.forked = True


process = Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process.leave_threads_alone)


def fast(least: int, of: int = 0) -> Callable[[Kernel], Kernel]:
    """Register a kernel under its name, for float32 arrays of `least` elements; argument `of` is the one looked at."""

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
    """For each number of arguments that small arrays come with, a function that gets to the plain kernel without a detour."""

    if _LEAST is not None:
        least = int(_LEAST)

    def tried(*args: Any, **options: Any) -> Any:
        try:
            return kernel(*args, **options)
        except Declined:
            return None

    def is_large(array: Any) -> bool:
        return array.size >= least and array.dtype is FLOAT and not process.forked

    def chosen(*args: Any, **options: Any) -> Any:
        made = tried(*args, **options) if is_large(args[of]) else None
        return plain(*args, **options) if made is None else made

    def chosen_of_one(input: Any) -> Any:
        made = tried(input) if input.size >= least and is_large(input) else None
        return plain(input) if made is None else made

    def chosen_of_two(input: Any, other: Any) -> Any:
        made = tried(input, other) if input.size >= least and is_large(input) else None
        return plain(input, other) if made is None else made

    code = kernel.__code__  # type: ignore[attr-defined]  # a kernel is a function
    if code.co_flags & inspect.CO_VARARGS or kernel.__defaults__ or of:  # type: ignore[attr-defined]
        return chosen
    return {1: chosen_of_one, 2: chosen_of_two}.get(code.co_argcount, chosen)


def is_dense(*arrays: Any) -> bool:
    """Whether all are float32 in row-major order, and writable: numba would compile each loop again for those that are not."""
    return all(each.dtype is FLOAT and each.flags.c_contiguous and each.flags.writeable for each in arrays)
