"""Results that come later, as `torch.futures`.

>>> import flambeau as torch
>>> future = torch.futures.Future()
>>> twice = future.then(lambda done: 2 * done.value())
>>> future.set_result(3)
>>> twice.wait()
6
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """The result of an operation that may not be done yet.

    Args:
        devices: accepted for compatibility.
    """

    def __init__(self, *, devices: Iterable[Any] | None = None) -> None:
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()

    @classmethod
    def of(cls, future: concurrent.futures.Future[T]) -> Future[T]:
        """The future of an operation in a thread."""
        result: Future[T] = cls()
        result._future = future
        return result

    def done(self) -> bool:
        """Whether there is a result, or an exception."""
        return self._future.done()

    def wait(self) -> T:
        """The result, waited for; raises the exception if there is one."""
        return self._future.result()

    def value(self) -> T:
        """The result.  RuntimeError if there is none yet."""
        if not self._future.done():
            raise RuntimeError("Future is not done: wait for it before asking for its value")
        return self._future.result()

    def set_result(self, result: T) -> None:
        """Give the result.  RuntimeError if it has one."""
        if self._future.done():
            raise RuntimeError("Future can only be set once")
        self._future.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Give an exception in place of the result.  AssertionError if it is none."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._future.set_exception(result)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what `callback` makes of this one once it is done."""
        result: Future[S] = Future()

        def run(_: Any) -> None:
            try:
                result._future.set_result(callback(self))
            except Exception as error:
                result._future.set_exception(error)

        self._future.add_done_callback(run)
        return result

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback` with this future once it is done."""
        self._future.add_done_callback(lambda _: callback(self))


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done when all of these are; its value is their list, or the first exception."""
    import threading

    result: Future[list[Future[Any]]] = Future()
    pending, lock = [len(futures)], threading.Lock()

    def count(_: Any = None) -> None:
        with lock:
            pending[0] -= _ is not None
            if pending[0]:
                return
        error = next((error for future in futures if (error := future._future.exception()) is not None), None)
        if error is None:
            result.set_result(list(futures))
        else:
            result._future.set_exception(error)

    if not futures:
        count()
    for future in futures:
        future.add_done_callback(count)
    return result


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of all, waited for."""
    return [future.wait() for future in collect_all(futures).wait()]
