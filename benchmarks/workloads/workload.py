"""`Workload`, a benchmarked step with target ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Make", "Step", "Workload"]

Step = Callable[[], Any]
Make = Callable[[Any], Step]


@dataclass(frozen=True)
class Workload:
    """A name, a function that creates the step, and target ratios to PyTorch on NumPy alone and with the kernel pack `fast`."""

    name: str
    make: Make
    alone: float | None = None
    fast: float | None = None
    training: bool = False  # whether the step is a training step, whose peak memory is also compared
    tolerance: float = 1e-3  # maximum difference of results, relative to the largest value
    model: Callable[[Any], tuple[Any, Any]] | None = None  # the network and its input, for `compare.py --peers`
    unit: str = "s"  # "s" to time the step, or "B" if the step returns a number of bytes
