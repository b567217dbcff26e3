"""Translations of PyTorch operators to ONNX, grouped by family and collected in `TABLE`."""

from __future__ import annotations

from . import elementwise, layers, reductions, shapes
from ._table import TABLE, translates

__all__ = ["TABLE", "elementwise", "layers", "reductions", "shapes", "translates"]
