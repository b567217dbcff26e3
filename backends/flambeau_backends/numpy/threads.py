"""The number of CPU threads, and distribution of large work between threads.

Matrix products use the threads of the OpenBLAS library in NumPy.  NumPy's other functions run in the calling thread, but release
the GIL, so that several threads can each process a part of the arrays.
"""

from __future__ import annotations

import contextvars
import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np

from flambeau.engine.values.systems import WEBASSEMBLY

__all__ = [
    "HEAVY", "LARGE", "SMALL_MATRICES", "SMALL_PRODUCT", "follow", "get_num_threads", "has_small_products",
    "keep_products_serial", "parts", "product", "serially", "set_num_threads", "share",
]  # fmt: skip

LARGE = 2_000_000  # elements from which memory-bound work is split between threads; smaller arrays fit into a core's cache
HEAVY = 1 << 25  # multiplications from which compute-bound work is split; less would be finished before a thread has started
SMALL_PRODUCT = 1 << 18  # number of multiplications up to which OpenBLAS uses one thread
SMALL_MATRICES = 10**6  # number of multiplications up to which OpenBLAS treats the operands of a product as small
_CORES_WITH_SMALL_PRODUCTS = (b"SkylakeX", b"Cooperlake", b"SapphireRapids")
# Multiplications from which products use several threads: if the program shares no other work, and in all programs.
_MIDDLE_PRODUCT, _LARGE_PRODUCT = 1 << 20, 1 << 23
_RECENT_PRODUCTS = 100  # number of products after shared work for which the program is assumed to share work again

Number = tuple[Callable[[], int], Callable[[int], None]]  # functions that get and set the number of threads

_PLACES = ("../numpy.libs/*openblas*", ".dylibs/*openblas*")  # next to NumPy on Linux and Windows, inside it on macOS
_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


# --- number of threads --------------------------------------------------------------------------------------------


def _libraries() -> Iterator[ctypes.CDLL]:
    root = Path(np.__file__).parent
    for pattern in _PLACES:
        for path in root.joinpath(pattern).parent.resolve().glob(Path(pattern).name):
            yield ctypes.CDLL(str(path))  # already loaded: this only finds it
    if os.name == "posix" and not WEBASSEMBLY:
        yield ctypes.CDLL(None)  # a system's OpenBLAS, linked into NumPy


def _openblas_function(name: str) -> Any:
    """Return a C function of OpenBLAS; None if NumPy uses another library."""
    found = (getattr(library, full.format(name), None) for library in _libraries() for full in _NAMES)
    return next((function for function in found if function is not None), None)


@cache
def _openblas_functions() -> Number | None:
    """Return OpenBLAS's functions that get and set the number of threads; None if NumPy uses another library."""
    getter, setter = _openblas_function("get_num_threads"), _openblas_function("set_num_threads")
    return None if setter is None else (getter, setter)


@cache
def has_small_products() -> bool:
    """Whether OpenBLAS computes products of up to `SMALL_MATRICES` multiplications without copying its operands.

    It does with its kernels for AVX-512, and then takes a third of the time for products of few rows.
    """
    get_corename = _openblas_function("get_corename")
    if get_corename is None:
        return False
    get_corename.restype = ctypes.c_char_p
    return get_corename() in _CORES_WITH_SMALL_PRODUCTS


_followers: list[Callable[[int], None]] = []
_requested_count: list[int] = []  # the number of threads set last, if any
_shared_work_threads: list[int] = []  # the number of threads for other work while products are limited to one thread


def follow(setter: Callable[[int], None]) -> None:
    """Call `setter` now and whenever the number of threads is set; for kernels with their own threads."""
    _followers.append(setter)
    for count in _requested_count:
        setter(count)


def get_num_threads() -> int:
    """Return the number of threads for a matrix product or shared work."""
    if _team.size:
        return _team.size
    if _shared_work_threads:
        return _shared_work_threads[0]
    functions = _openblas_functions()
    return 1 if functions is None else functions[0]()


def keep_products_serial() -> None:
    """Limit NumPy's matrix products to one thread from now on; for kernels that compute products with their own threads.

    OpenBLAS's idle threads would spin and compete with the kernels' threads.
    """
    if not _shared_work_threads:
        _shared_work_threads.append(get_num_threads())
        _set_for_products(1)


def set_num_threads(count: int) -> None:
    """Set the number of threads for matrix products and shared work."""
    _requested_count[:] = [count]
    if _shared_work_threads:
        _shared_work_threads[:] = [count]
    _set_for_products(count)
    for setter in _followers:
        setter(count)


def _set_for_products(count: int) -> None:
    functions = _openblas_functions()
    if functions is not None:
        functions[1](1 if _shared_work_threads else count)


# --- shared work --------------------------------------------------------------------------------------------------


class _Work:
    """Parts of work that threads take one at a time until all are done."""

    def __init__(self, compute: Callable[[Any], Any], parts: Sequence[Any]) -> None:
        self.compute: Any = compute
        self.left = [*enumerate(parts)][::-1]
        self.done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

    def help(self) -> None:
        while self.left:
            try:
                index, part = self.left.pop()
            except IndexError:  # another thread has taken the last part
                return
            try:
                self.done.put((index, self.compute(part), None))
            except BaseException as error:
                self.done.put((index, None, error))


class _Team:
    """Helper threads that process parts of work together with the calling thread."""

    def __init__(self) -> None:
        self.free = Lock()
        self.size = 0  # number of threads while work is shared, else 0
        self.helpers = 0
        self.products = _RECENT_PRODUCTS  # number of medium-sized products since work was last shared
        self.calls: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def shares_other_work(self) -> bool:
        """Whether the program has recently shared work; called before each product of medium size."""
        self.products += 1
        return self.products <= _RECENT_PRODUCTS

    def do(self, work: _Work, size: int) -> None:
        self.size, self.products = size, 0
        with suppress(RuntimeError):  # no more threads can be started
            while self.helpers < size - 1:
                Thread(target=_help, args=[self.calls], name="flambeau", daemon=True).start()
                self.helpers += 1
        for _ in range(min(self.helpers, size - 1)):
            self.calls.put(partial(contextvars.copy_context().run, work.help))  # the context includes NumPy's errstate
        work.help()


def _help(calls: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        call = calls.get()
        call()
        del call  # release the arrays that the call refers to


_team = _Team()


def _reset_after_fork() -> None:
    """Reset the state after a fork: the child process has no helper threads, but may have inherited a held lock."""
    global _team
    size, _team = _team.size, _Team()
    if size:
        _set_for_products(size)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def serially(compute: Callable[..., Any], *args: Any) -> Any:
    """Call `compute(*args)` with single-threaded matrix products.

    OpenBLAS's threads spin for about 20 ms after a product, and occupy cores that shared work could use.
    """
    team = _team
    if not team.free.acquire(blocking=False):  # other work is shared now: products are already single-threaded
        return compute(*args)
    try:
        team.size = size = get_num_threads()
        _set_for_products(1)
        return compute(*args)
    finally:
        team.size = 0
        _set_for_products(size)
        team.free.release()


def product(left: Any, right: Any) -> Any:
    """Multiply two matrices, with several OpenBLAS threads only if they are large or the program shares no other work.

    OpenBLAS's threads spin for about 20 ms after a product (see `serially`).  In programs that share other work, the helper
    threads compute large products.
    """
    work = left.size * right.shape[1]
    if work <= SMALL_PRODUCT:
        return left.dot(right)
    if left.dtype.kind in "iu":
        return _product_of_integers(left, right)
    if work < _MIDDLE_PRODUCT:
        return serially(left.dot, right)
    if not _shared_work_threads and not _team.shares_other_work():
        return left.dot(right)
    if work < _LARGE_PRODUCT or left.dtype != right.dtype:
        return serially(left.dot, right)
    rows, columns = len(left), right.shape[1]
    result, products = np.empty((rows, columns), left.dtype), _team.products
    if rows >= columns:
        share(lambda part: np.matmul(left[part], right, result[part]), parts(rows, rows, True))
    else:
        share(lambda part: np.matmul(left, right[:, part], result[:, part]), parts(columns, columns, True))
    _team.products = products  # products do not count as other work
    return result


def _product_of_integers(left: Any, right: Any) -> Any:
    """Multiply integer matrices in float64, which BLAS supports, if all sums are exactly representable."""
    extremes = [max(abs(int(array.min())), abs(int(array.max()))) for array in (left, right)]
    if left.dtype != right.dtype or extremes[0] * extremes[1] * len(right) >= 1 << 53:
        return left.dot(right)
    return product(left.astype(np.float64), right.astype(np.float64)).astype(np.int64).astype(left.dtype, copy=False)


def share(compute: Callable[[Any], Any], parts: Sequence[Any], pays: bool = True) -> list[Any]:
    """Call `compute` for each part and return the results in order.

    If `pays`, several threads take parts one at a time, so that slower threads process fewer.  Matrix products inside are
    single-threaded.
    """
    size, team = get_num_threads() if pays and len(parts) > 1 else 1, _team
    if size == 1:
        return serially(lambda: [compute(part) for part in parts])
    if not team.free.acquire(blocking=False):  # other work is shared now
        return [compute(part) for part in parts]
    try:
        work = _Work(compute, parts)
        _set_for_products(1)
        team.do(work, size)
        done = sorted((work.done.get() for _ in parts), key=lambda item: item[0])
        work.compute = None  # release the arrays, since a late thread may hold `work` for a while
    finally:
        team.size = 0
        _set_for_products(size)
        team.free.release()
    for _, _, error in done:
        if error is not None:
            raise error
    return [result for _, result, _ in done]


def parts(length: int, most: int, pays: bool) -> list[slice]:
    """Split `range(length)` into slices of at most `most`; if `pays`, their number is a multiple of the thread count."""
    count = get_num_threads() if pays else 1
    rounds = -(-length // (max(most, 1) * count))
    step = -(-length // max(rounds * count, 1))
    return [slice(start, min(start + step, length)) for start in range(0, length, max(step, 1))]
