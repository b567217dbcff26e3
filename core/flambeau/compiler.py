"""`torch.compiler`: flambeau does not compile functions, so all of them run eagerly.

>>> import flambeau as torch
>>> torch.compiler.is_compiling()
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["disable", "is_compiling", "is_dynamo_compiling", "is_exporting"]


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A decorator, with or without arguments, for functions that must not be compiled; returns them unchanged."""
    return fn if fn is not None else lambda fn: fn
