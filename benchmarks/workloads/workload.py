"""A row of the table: a workload and its aims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Make", "Step", "Workload"]

Step = Callable[[], Any]
Make = Callable[[Any], Step]


@dataclass(frozen=True)
class Workload:
    """A name, the function that creates the step, and the aimed-at ratios to PyTorch: NumPy alone, and with the pack `fast`."""

    name: str
    make: Make
    alone: float | None = None
    fast: float | None = None
    training: bool = False  # a whole training step, whose peak memory is compared as well
    unit: str = "s"  # or "B": the step is not timed, and returns a number of bytes
