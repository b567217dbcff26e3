"""What is going on in this process that the common path has to know of: one object, whose fields cost one look each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["state"]


class State:
    """Counters and switches that are read for every call or every backward pass.

    They are of the process, not of the thread: a switch that is on sends all threads the careful way, where each looks at its own
    context.
    """

    __slots__ = (
        "anomaly_mode",
        "checks_nan",
        "forward_levels",
        "guarded_devices",
        "leaf_hooks",
        "mutation_guards",
        "node_observers",
        "observes_records",
    )

    def __init__(self) -> None:
        self.forward_levels = 0  # forward-mode levels that are open: a backward pass then works on Tensors, which have tangents
        self.mutation_guards = 0  # functions that are being differentiated and may not write to what they have captured
        self.anomaly_mode = False  # whether nodes remember where the forward call was made
        self.node_observers: tuple[Callable[[Any], None], ...] = ()  # profilers that are on
        self.observes_records = False  # whether one of the last three wants to see each node as it is made
        self.checks_nan = True  # whether anomaly mode looks for NaN in gradients
        self.guarded_devices = False  # whether there are devices that work goes to only while they are current
        self.leaf_hooks = False  # whether leaves may have hooks, so that a pass must know when each leaf's gradient is complete

    def update_observing(self) -> None:
        """Note whether anybody wants to see nodes."""
        self.observes_records = self.anomaly_mode or self.mutation_guards > 0 or bool(self.node_observers)


state = State()
