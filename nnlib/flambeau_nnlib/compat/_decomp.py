"""`torch._decomp`: tables of decompositions of operators."""

from __future__ import annotations

from typing import Any

from flambeau_nnlib.compile.export import default_decompositions

__all__ = ["core_aten_decompositions"]


def core_aten_decompositions() -> Any:
    """Return `torch.export.default_decompositions()`."""
    return default_decompositions()
