"""A mark that PyTorch puts on its functions, for libraries that put it on theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

__all__ = ["compatibility"]


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """A decorator that gives back what it is given.

    Args:
        is_backward_compatible: what the mark says.
    """
    return lambda marked: marked
