"""Registration of kernels, and the choice between a kernel of this pack and the NumPy backend's.

The NumPy backend's kernel is used for small arrays, for unsupported dtypes (most kernels support only float32), and for calls for
which this pack's kernel returns None.  Errors, broadcasting and empty arrays are left to it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import kernels as numpy_kernels

__all__ = ["IN_PLACE", "KERNELS", "LEAST", "Declined", "fast", "fast_in_place", "is_dense", "process"]

Kernel = Callable[..., Any]

KERNELS: dict[str, Kernel] = {}
IN_PLACE: dict[str, Kernel] = {}
FLOAT = np.dtype(np.float32)
_ASKED = os.environ.get("FLAMBEAU_FAST_LEAST")
LEAST = None if _ASKED is None else int(_ASKED)  # overrides the minimum size of every kernel, for tests


class Declined(Exception):
    """Raised by a kernel that detects only during the computation that it does not support a call."""


class Process:
    """Whether this process was created by a fork."""

    forked = False  # True in a forked process: numba's threads do not exist there, and waiting for them would hang

    def leave_threads_alone(self) -> None:
        self.forked = True


process = Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process.leave_threads_alone)


def fast(least: int, of: int = 0, dtypes: tuple[Any, ...] = (FLOAT,)) -> Callable[[Kernel], Kernel]:
    """Register a kernel under its name. It is called if argument `of` has one of the `dtypes` and at least `least` elements."""

    def register(kernel: Kernel) -> Kernel:
        name = kernel.__name__.rstrip("_")
        KERNELS[name] = _choosing(kernel, numpy_kernels.KERNELS[name], least, of, dtypes)
        return kernel

    return register


def fast_in_place(least: int) -> Callable[[Kernel], Kernel]:
    """Like `fast`, for a kernel that writes to its first argument, and returns None if it does not support the call."""

    def register(kernel: Kernel) -> Kernel:
        name = kernel.__name__.rstrip("_")
        IN_PLACE[name] = _choosing(kernel, numpy_kernels.INPLACE[name], least, 0, (FLOAT,))
        return kernel

    return register


def _choosing(kernel: Kernel, plain: Kernel, least: int, of: int, dtypes: tuple[Any, ...]) -> Kernel:
    """Return a function that calls `kernel` if it supports the arguments, else `plain`.

    Kernels of one or two arrays get a function without `*args`, which has less overhead.
    """

    if LEAST is not None:
        least = LEAST

    def chosen(*args: Any, **options: Any) -> Any:
        array = args[of]
        if array.size >= least and array.dtype in dtypes:
            try:
                result = kernel(*args, **options)
                if result is not None:
                    return result
            except (Declined, BufferError):  # BufferError: not supported by a compiled kernel
                pass
        return plain(*args, **options)

    def chosen_of_one(input: Any) -> Any:
        if input.size >= least and input.dtype is FLOAT:
            try:
                result = kernel(input)
                if result is not None:
                    return result
            except (Declined, BufferError):
                pass
        return plain(input)

    def chosen_of_two(input: Any, other: Any) -> Any:
        if input.size >= least and input.dtype is FLOAT:
            try:
                result = kernel(input, other)
                if result is not None:
                    return result
            except (Declined, BufferError):
                pass
        return plain(input, other)

    code = kernel.__code__  # type: ignore[attr-defined]  # kernels are plain functions
    of_many = code.co_flags & inspect.CO_VARARGS or kernel.__defaults__ or of or len(dtypes) > 1  # type: ignore[attr-defined]
    choosing: Any = chosen if of_many else {1: chosen_of_one, 2: chosen_of_two}.get(code.co_argcount, chosen)
    choosing.specialize = lambda *args: None if args[of].size >= least and args[of].dtype in dtypes else plain
    return choosing  # type: ignore[no-any-return]  # `Any`, to set the attribute


def is_dense(*arrays: Any) -> bool:
    """Whether all arrays are float32 and C-contiguous, as most kernels require."""
    return all(array.dtype is FLOAT and array.flags.c_contiguous for array in arrays)
