"""Which modules are there.  For torchtext, torchdata, torchaudio."""

from __future__ import annotations

import importlib.util

__all__: list[str] = []


def _check_module_exists(name: str) -> bool:
    """Whether a module of this name can be imported; it is not."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
