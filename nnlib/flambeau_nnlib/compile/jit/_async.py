"""`torch.jit.fork` and `wait`. A forked call runs immediately, in the calling thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.futures import Future

__all__ = ["Future", "fork", "wait"]


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Call a function and return its result as a `Future`.

    PyTorch runs the call in parallel in compiled code. Here, as in PyTorch's Python mode, it runs immediately.

    Args:
        func: the function.
        *args, **kwargs: its arguments.

    >>> torch.jit.wait(torch.jit.fork(torch.neg, torch.ones(1)))
    tensor([-1.])
    """
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Return the result of a forked call.

    Args:
        future: the future returned by `fork`.
    """
    return future.wait()
