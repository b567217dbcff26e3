"""The number of threads that NumPy's matrix products use: a switch of the OpenBLAS library that comes with NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["follow", "get_num_threads", "set_num_threads"]

_PLACES = ("../numpy.libs/*openblas*", ".dylibs/*openblas*")  # beside NumPy on Linux and Windows, inside it on macOS
_NAMES = (
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)


def _libraries() -> Iterator[ctypes.CDLL]:
    root = Path(np.__file__).parent
    for pattern in _PLACES:
        for path in root.joinpath(pattern).parent.resolve().glob(Path(pattern).name):
            yield ctypes.CDLL(str(path))  # loaded already: this only finds it
    yield ctypes.CDLL(None)  # a system's OpenBLAS, linked into NumPy


@cache
def _switch() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """The functions that get and set the number; None where NumPy uses another library."""
    for library in _libraries():
        for name in _NAMES:
            if hasattr(library, name.format("set")):
                return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None


_followers: list[Callable[[int], None]] = []
_asked: list[int] = []  # the last number that was set


def follow(setter: Callable[[int], None]) -> None:
    """Call ``setter`` with the number whenever it is set, and now if it has been: for kernels that have threads of their own."""
    _followers.append(setter)
    for count in _asked:
        setter(count)


def get_num_threads() -> int:
    """How many threads a matrix product may use."""
    found = _switch()
    return 1 if found is None else found[0]()


def set_num_threads(count: int) -> None:
    """Let matrix products use ``count`` threads."""
    _asked[:] = [count]
    found = _switch()
    if found is not None:
        found[1](count)
    for setter in _followers:
        setter(count)
