"""Helpers for dispatch modes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from ...library.dispatch_modes import disable_modes

__all__ = ["all_same_mode", "no_dispatch"]

T = TypeVar("T")


def no_dispatch() -> AbstractContextManager[None]:
    """Return a context manager that disables all function and dispatch modes."""
    return disable_modes()


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether all modes are equal."""
    return all(mode == modes[0] for mode in modes)
