"""Show warnings with the line of the user's program that caused them, not with a line of flambeau."""

from __future__ import annotations

import os
import sys
import warnings

from .settings import is_warn_always_enabled

__all__ = ["warn", "warn_of_old", "warn_once"]

_PACKAGES = ("flambeau", "flambeau_nnlib", "flambeau_vision")
_warned: set[str] = set()


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Call `warnings.warn` so that the warning shows the innermost line outside of flambeau and its generated code.

    Args:
        message: the text.
        category: the class of the warning, for filters.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warn("this is old", DeprecationWarning)
        >>> caught[0].category
        <class 'DeprecationWarning'>
    """
    folders = tuple(folder + os.sep for name in _PACKAGES for folder in getattr(sys.modules.get(name), "__path__", ()))
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith((*folders, "<flambeau")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_once(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn only at the first call with this message, or, after `set_warn_always(True)`, at every call."""
    if message in _warned and not is_warn_always_enabled():
        return
    _warned.add(message)
    warn(message, category)


def warn_of_old(name: str, arguments: str) -> None:
    """Warn that the function `name` was called with its arguments in the legacy order of PyTorch 0.2."""
    warn_once(
        f"This overload of {name} is deprecated.\nConsider using one of the following signatures instead:\n"
        f"\t{name}(input, {arguments})"
    )
