"""The tables of operations: records, public functions and formulas, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .record import Operation

__all__ = ["FORMULAS", "FUSED", "OPS", "PUBLIC"]

OPS: dict[str, Operation] = {}  # every record
PUBLIC: dict[str, Callable[..., Any]] = {}  # every function of the `torch` namespace, records and composites
FORMULAS: dict[str, Callable[..., Any]] = {}  # gradients written as functions of `F`
FUSED: set[str] = set()  # the names of kernels that some function uses directly, and that belong to no operation
