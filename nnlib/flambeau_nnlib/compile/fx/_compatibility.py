"""`compatibility`, a decorator that PyTorch puts on its functions, for libraries that use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

__all__ = ["compatibility"]


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """Return a decorator that returns its argument unchanged.

    Args:
        is_backward_compatible: ignored.
    """
    return lambda marked: marked
