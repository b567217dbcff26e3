"""Global state that the fast path checks, in one object: each check is one attribute lookup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["state"]


class State:
    """Counters and switches that are read for every call or every backward pass.

    They belong to the process, not to a thread: a switch that is on sends all threads through the general path, where each thread
    checks its own context variables.
    """

    __slots__ = (
        "anomaly_mode",
        "checks_nan",
        "dispatching",
        "forward_levels",
        "guarded_devices",
        "leaf_hooks",
        "mutation_guards",
        "node_observers",
        "observes_records",
        "on_tensors",
    )

    def __init__(self) -> None:
        self.forward_levels: int = 0  # open forward-mode levels: a backward pass then computes with Tensors, which have tangents
        self.mutation_guards: int = 0  # functions being differentiated, which may not write to tensors that they have captured
        self.anomaly_mode: bool = False  # whether nodes store the stack trace of the forward call
        self.node_observers: tuple[Callable[[Any], None], ...] = ()  # of active profilers
        self.observes_records = False  # whether any of the last three is set: each new node is then observed
        self.checks_nan: bool = True  # whether anomaly mode looks for NaN in gradients
        self.guarded_devices: bool = False  # whether there are devices that only get work while they are the current device
        self.dispatching: bool = False  # whether there are tensor subclasses with a `__torch_dispatch__`
        self.on_tensors: bool = False  # whether there may be graphs with such tensors, whose rules get Tensors, not arrays
        # whether leaves may have hooks, so that a pass must know when each leaf's gradient is complete
        self.leaf_hooks: bool = False

    def update_observing(self) -> None:
        """Update `observes_records`."""
        self.observes_records = self.anomaly_mode or self.mutation_guards > 0 or bool(self.node_observers)


state: Final = State()
