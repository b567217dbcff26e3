"""`fork` and `wait`: what is forked runs at once."""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Any

__all__ = ["Future", "fork", "wait"]


class Future:
    """The result of a call, which is there, or will be.

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
        """Whether the result is there."""
        return self._done

    def wait(self) -> Any:
        """The result.

        Raises:
            RuntimeError: it is not there; nothing runs beside the program that could bring it.
        """
        if not self._done:
            raise RuntimeError("Future.wait: nobody has set its result, and nothing runs that could")
        if self._error is not None:
            raise self._error
        return self._result

    value = wait

    def set_result(self, result: Any) -> None:
        """Give the result.

        Args:
            result: the result.

        Raises:
            RuntimeError: it has been given.
        """
        if self._done:
            raise RuntimeError("Attempting to mark a completed Future as complete again.")
        self._result, self._done = result, True
        for callback in self._callbacks:
            callback(self)

    def set_exception(self, result: BaseException) -> None:
        """Let whoever asks for the result get an exception.

        Args:
            result: the exception.
        """
        self._error = result
        self.set_result(None)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call a function with this when the result is there.

        Args:
            callback: the function.
        """
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The result of a function that is called with this when its result is there.

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
    """Call a function; its result is in the future that comes back.

    In compiled code of PyTorch it runs beside the program; in Python, as here, at once.

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
    """The result of what was forked.

    Args:
        future: what `fork` gave back.
    """
    return future.wait()
