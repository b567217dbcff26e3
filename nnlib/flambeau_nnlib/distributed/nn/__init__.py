"""Collectives through which gradients flow; see `functional.py`."""

from __future__ import annotations

from . import functional as functional
from .functional import all_gather, all_reduce, all_to_all_single, broadcast, reduce_scatter

__all__ = ["all_gather", "all_reduce", "all_to_all_single", "broadcast", "reduce_scatter"]
