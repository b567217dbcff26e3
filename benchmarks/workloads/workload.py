"""The definition of a workload and its target ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Make", "Step", "Workload"]

Step = Callable[[], Any]
Make = Callable[[Any], Step]


@dataclass(frozen=True)
class Workload:
    """A name, a function that creates the step, and the target ratios to PyTorch: NumPy alone, and with the pack `fast`."""

    name: str
    make: Make
    alone: float | None = None
    fast: float | None = None
    training: bool = False  # a training step, whose peak memory is compared as well
    unit: str = "s"  # or "B": the step is not timed, but returns a number of bytes
