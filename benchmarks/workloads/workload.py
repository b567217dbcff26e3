"""The table's row: a workload, and what is aimed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Make", "Step", "Workload"]

Step = Callable[[], Any]
Make = Callable[[Any], Step]


@dataclass(frozen=True)
class Workload:
    """A name, what makes the step, and the ratios to PyTorch aimed at: on NumPy alone, and with the kernel pack `fast`."""

    name: str
    make: Make
    alone: float | None = None
    fast: float | None = None
    training: bool = False  # a whole training step, whose peak memory is compared as well
    unit: str = "s"  # or "B": the step is not timed, and returns a number of bytes
