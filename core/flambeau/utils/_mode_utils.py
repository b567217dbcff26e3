"""What modes are written with.  For torchao, tensordict."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from ._python_dispatch import _disable_current_modes

__all__ = ["all_same_mode", "no_dispatch"]

T = TypeVar("T")


def no_dispatch() -> AbstractContextManager[None]:
    """A context in which no mode sees anything."""
    return _disable_current_modes()


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether they are all the same."""
    return all(mode == modes[0] for mode in modes)
