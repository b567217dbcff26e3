"""Check whether modules are installed, without importing them."""

from __future__ import annotations

import importlib.util

__all__: list[str] = []


def _check_module_exists(name: str) -> bool:
    """Whether a module of this name can be imported, without importing it."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
