"""Translations of PyTorch's operators to ONNX, by family; `TABLE` has them all."""

from __future__ import annotations

from . import elementwise, layers, reductions, shapes
from ._table import TABLE, translates

__all__ = ["TABLE", "elementwise", "layers", "reductions", "shapes", "translates"]
