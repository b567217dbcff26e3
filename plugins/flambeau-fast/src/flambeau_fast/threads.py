"""The number of threads of numba and of oneDNN, either of which may be loaded only after the number was set.

Both use OpenMP's threads, so the number holds for the Python thread that sets it.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable

__all__ = ["of_numba", "of_openmp", "set_num_threads"]

_asked: list[int] = []
_setters: list[Callable[[int], None]] = []


def set_num_threads(count: int) -> None:
    """Let kernels use `count` threads, or as many as there are."""
    _asked[:] = [count]
    for setter in _setters:
        setter(count)


def _follow(setter: Callable[[int], None]) -> None:
    _setters.append(setter)
    for count in _asked:
        setter(count)


def of_numba() -> None:
    """Called when numba has been imported."""
    import numba

    _follow(lambda count: numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS)))


def of_openmp() -> None:
    """Called when oneDNN has been loaded, and with it GNU OpenMP."""
    with contextlib.suppress(OSError):  # another OpenMP
        _follow(ctypes.CDLL("libgomp.so.1").omp_set_num_threads)
