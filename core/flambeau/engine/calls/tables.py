"""The tables of operations: records, public functions and formulas, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .record import Operation

__all__ = ["FORMULAS", "FUSED", "OPS", "PUBLIC"]

OPS: dict[str, Operation] = {}  # all records
PUBLIC: dict[str, Callable[..., Any]] = {}  # all functions of the `torch` namespace, operations and composites
FORMULAS: dict[str, Callable[..., Any]] = {}  # helper functions of derivative rules; `F`, their first argument, holds operations
FUSED: set[str] = set()  # names of backend kernels that are no operation, such as `sparse_product`
