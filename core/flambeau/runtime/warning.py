"""Warnings that are shown once per process, and point at the caller's line."""

from __future__ import annotations

import os
import sys
import warnings

from .settings import is_warn_always_enabled

__all__ = ["warn_of_old", "warn_once"]

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_warned: set[str] = set()


def warn_once(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first call with this message, or at every call after `set_warn_always(True)`."""
    if message in _warned and not is_warn_always_enabled():
        return
    _warned.add(message)
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith((_PACKAGE, "<flambeau")):  # point at the caller's line
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_old(name: str, arguments: str) -> None:
    """Warn about a call with the legacy order of arguments of PyTorch 0.2."""
    warn_once(
        f"This overload of {name} is deprecated.\nConsider using one of the following signatures instead:\n"
        f"\t{name}(input, {arguments})"
    )
