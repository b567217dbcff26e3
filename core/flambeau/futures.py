"""`torch.futures`: values that are set later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value that is set later, and that callers can wait for.

    Args:
        devices: the devices on which the value may be. No effect, because calls run in order.

    >>> future = torch.futures.Future()
    >>> squared = future.then(lambda done: done.value() ** 2)
    >>> future.set_result(3)
    >>> squared.wait()
    9
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._devices = list(devices or ())
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], None]] = []

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def done(self) -> bool:
        """Whether a value or an error has been set."""
        return self._set.is_set()

    def wait(self) -> T:
        """Wait for the value and return it; raise the error if one was set instead."""
        self._set.wait()
        return self.value()

    def value(self) -> T:
        """Return the value, or raise the error that was set.

        Raises:
            RuntimeError: neither has been set yet.
        """
        if not self._set.is_set():
            raise RuntimeError("value() called on a Future that is not completed; call wait() first")
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def set_result(self, result: T) -> None:
        """Set the value and run the registered callbacks.

        Raises:
            RuntimeError: a value or an error has already been set.
        """
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` and `value` raise.

        Raises:
            AssertionError: `result` is not an exception.
            RuntimeError: a value or an error has already been set.
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._set.is_set():
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error = value, error
            self._set.set()
        for callback in self._callbacks:
            callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Return a future for the result of `callback`, which is called with this future when it is done.

        If `callback` raises an exception, the future that is returned gets a RuntimeError with the exception as its cause.
        """
        following: Future[Any] = Future(devices=self._devices)

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                reason = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                failure = RuntimeError(reason)
                failure.__cause__ = error
                following.set_exception(failure)
            else:
                following.set_result(result)

        self._run_when_done(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback` with this future when it is done, or immediately if it already is. Errors in it are printed."""

        def run(done: Future[T]) -> None:
            try:
                callback(done)
            except Exception:
                import traceback

                traceback.print_exc()

        self._run_when_done(run)

    def _run_when_done(self, run: Callable[[Any], None]) -> None:
        with self._lock:
            if not self._set.is_set():
                self._callbacks.append(run)
                return
        run(self)


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future whose value is the list of `futures`, set when all of them have completed.

    >>> parts = [torch.futures.Future(), torch.futures.Future()]
    >>> whole = torch.futures.collect_all(parts)
    >>> for number, part in enumerate(parts):
    ...     part.set_result(number)
    >>> [part.wait() for part in whole.wait()]
    [0, 1]
    """
    waited, lock = list(futures), threading.Lock()
    left = len(waited)
    whole: Future[list[Future[Any]]] = Future()
    if not waited:
        whole.set_result([])

    def count(_: Any) -> None:
        nonlocal left
        with lock:
            left -= 1
            complete = left == 0
        if complete:
            whole.set_result(waited)

    for future in waited:
        future._run_when_done(count)
    return whole


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their values; raise the first error."""
    return [future.wait() for future in collect_all(futures).wait()]
