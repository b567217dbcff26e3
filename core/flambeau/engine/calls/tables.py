"""The tables of operations: records, public functions and formulas, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .record import Operation

__all__ = ["FORMULAS", "FUSED", "OPS", "PUBLIC"]

OPS: dict[str, Operation] = {}  # all records
PUBLIC: dict[str, Callable[..., Any]] = {}  # all functions of `torch`, both operations and composites
FORMULAS: dict[str, Callable[..., Any]] = {}  # helpers for derivative rules: `function(F, ...)`
FUSED: set[str] = set()  # names of backend kernels that do not compute an operation, such as `sparse_product`
