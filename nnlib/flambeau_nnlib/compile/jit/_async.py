"""`torch.jit.fork` and `wait`. A forked call runs immediately, in the calling thread."""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Any

__all__ = ["Future", "fork", "wait"]


class Future:
    """The result of a call that has finished or will finish later.

    >>> future = Future()
    >>> future.set_result(3)
    >>> future.then(lambda done: done.wait() + 1).value()
    4
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self) -> None:
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether the result is set."""
        return self._done

    def wait(self) -> Any:
        """Return the result.

        Raises:
            RuntimeError: the result is not set. Calls are never pending, because nothing runs in the background.
        """
        if not self._done:
            raise RuntimeError("Future.wait: the result is not set, and no call is running that could set it")
        if self._error is not None:
            raise self._error
        return self._result

    value = wait

    def set_result(self, result: Any) -> None:
        """Set the result.

        Args:
            result: the result.

        Raises:
            RuntimeError: the result is already set.
        """
        if self._done:
            raise RuntimeError("Attempting to mark a completed Future as complete again.")
        self._result, self._done = result, True
        for callback in self._callbacks:
            callback(self)

    def set_exception(self, result: BaseException) -> None:
        """Set an exception, which `wait` raises.

        Args:
            result: the exception.
        """
        self._error = result
        self.set_result(None)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call a function with this future when the result is set.

        Args:
            callback: the function.
        """
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Call a function with this future when the result is set. Return a future of the function's result.

        Args:
            callback: the function.
        """
        following = Future()

        def call(done: Future) -> None:
            try:
                following.set_result(callback(done))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(call)
        return following


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call a function and return its result as a `Future`.

    PyTorch runs the call in parallel in compiled code. Here, as in PyTorch's Python mode, it runs immediately.

    Args:
        func: the function.
        *args, **kwargs: its arguments.

    >>> torch.jit.wait(torch.jit.fork(torch.neg, torch.ones(1)))
    tensor([-1.])
    """
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future) -> Any:
    """Return the result of a forked call.

    Args:
        future: the future returned by `fork`.
    """
    return future.wait()
