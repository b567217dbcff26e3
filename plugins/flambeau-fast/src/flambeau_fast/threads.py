"""How many threads compute: numba's and oneDNN's, each of which may not be there yet when somebody asks for a number.

As with OpenMP, whose threads they are, the number is that of the Python thread that sets it.
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
    """Numba has been imported."""
    import numba

    _follow(lambda count: numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS)))


def of_openmp() -> None:
    """GNU OpenMP's library has been loaded, as oneDNN's."""
    with contextlib.suppress(OSError):  # another OpenMP
        _follow(ctypes.CDLL("libgomp.so.1").omp_set_num_threads)
