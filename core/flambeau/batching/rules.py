"""Operations that are batched by a rule of their own, because it is faster than the array-API forward.

A rule takes a ``BatchedBackend`` and gives a kernel.  ``add_level`` and ``drop_level`` are here because they, too, are operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["RULES"]

RULES: dict[str, Callable[[Any], Callable[..., Any]]] = {}
