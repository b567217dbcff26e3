"""`torch._VF`: the compiled functions of `torch`, which here are those of `torch`.  For copies of PyTorch's recurrent layers."""

from __future__ import annotations

from typing import Any

import flambeau as torch

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'flambeau.compat._VF' has no attribute '{name}'")
    return getattr(torch, name)
