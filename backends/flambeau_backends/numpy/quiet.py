"""Infinities and NaN without a word, as in PyTorch, whatever NumPy has been told to do about them in the user's own arrays.

NumPy keeps its error state in a context variable.  Kernels run in contexts of their own, in which it says "ignore": to enter one
that there is already takes a twentieth of the time of `np.errstate`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar

import numpy as np

__all__ = ["quiet", "quiet_in_place"]

Run = Callable[..., Any]
C = TypeVar("C", bound=Callable[..., Any])

_free: list[Run] = []  # of the contexts that no call is in at present: a context takes one call at a time


def _new() -> Run:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context.run


def quiet(function: C) -> C:
    """A function that computes, so that it does not depend on NumPy's error state, nor changes it for anybody else.

    It must not run a user's code: other context variables have their defaults in it.
    """

    @functools.wraps(function)
    def quieted(*args: Any, **kwargs: Any) -> Any:
        try:
            run = _free.pop()
        except IndexError:  # all are in use: by other threads, or by the call that this one is a part of
            run = _new()
        try:
            return run(function, *args, **kwargs)
        finally:
            _free.append(run)

    return quieted  # type: ignore[return-value]  # of the same signature


def quiet_in_place(ufunc: np.ufunc) -> Callable[..., None]:
    """`quiet`, of a ufunc that writes over its first argument; what every `x += y` calls."""

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

    return unary if ufunc.nin == 1 else binary
