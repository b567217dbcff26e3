"""Helpers for dispatch modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ...engine.calls.overriding import dispatch_disabled
from ...library.dispatch_modes import disable_modes

__all__ = ["all_same_mode", "no_dispatch"]

T = TypeVar("T")


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Context that disables all modes, and the `__torch_dispatch__` of subclasses that hold data."""
    token = dispatch_disabled.set(True)
    try:
        with disable_modes():
            yield
    finally:
        dispatch_disabled.reset(token)


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether all modes are equal."""
    return all(mode == modes[0] for mode in modes)
