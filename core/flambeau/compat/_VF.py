"""`torch._VF`: an alias of `torch` for copies of PyTorch's recurrent layers, which call compiled functions by this module."""

from __future__ import annotations

from typing import Any

import flambeau as torch

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'flambeau.compat._VF' has no attribute '{name}'")
    return getattr(torch, name)
