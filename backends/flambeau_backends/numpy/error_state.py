"""Computation of infinities and NaN without warnings or errors, as in PyTorch, whatever `np.errstate` the user has set.

NumPy stores its error state in a context variable.  Kernels run in separate contexts whose error state is "ignore": entering an
existing context takes a twentieth of the time of `np.errstate`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar

import numpy as np

__all__ = ["without_warnings", "without_warnings_in_place"]

Run = Callable[..., Any]
C = TypeVar("C", bound=Callable[..., Any])

_free: list[Run] = []  # `run` methods of idle contexts; a context can run only one call at a time


def _new() -> Run:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context.run


def without_warnings(function: C) -> C:
    """Wrap a function to run with NumPy warnings and errors disabled, without changing the caller's error state.

    The function must not run user code, because other context variables have their default values inside it.
    """

    @functools.wraps(function)
    def quieted(*args: Any, **kwargs: Any) -> Any:
        try:
            run = _free.pop()
        except IndexError:  # all contexts are in use, by other threads or an enclosing call
            run = _new()
        try:
            return run(function, *args, **kwargs)
        finally:
            _free.append(run)

    return quieted  # type: ignore[return-value]  # of the same signature


def without_warnings_in_place(ufunc: np.ufunc) -> Callable[..., None]:
    """Like `without_warnings`, for a ufunc that writes to its first argument; inlined, because every `x += y` calls it."""

    def unary(target: Any) -> None:
        try:
            run = _free.pop()
        except IndexError:
            run = _new()
        try:
            run(ufunc, target, target)
        finally:
            _free.append(run)

    def binary(target: Any, other: Any) -> None:
        try:
            run = _free.pop()
        except IndexError:
            run = _new()
        try:
            run(ufunc, target, other, target)
        finally:
            _free.append(run)

    def binary_by_keyword(target: Any, other: Any) -> None:
        try:
            run = _free.pop()
        except IndexError:
            run = _new()
        try:
            run(ufunc, target, other, out=target)
        finally:
            _free.append(run)

    if ufunc in (np.maximum, np.minimum):  # NumPy deprecates passing `out` as the third positional argument of these ufuncs
        return binary_by_keyword
    return unary if ufunc.nin == 1 else binary
