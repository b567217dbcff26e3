"""Global state that the fast path checks, in one object: each check is one attribute lookup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..values.forking import new_lock

__all__ = ["state"]

_lock = new_lock()


class State:
    """Counters and switches that are read for every call or every backward pass.

    All threads share them.  If a switch is on, calls of all threads take the general path, where each thread checks its own
    context variables.
    """

    observes_records: bool

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
        self.forward_levels: int = 0  # active forward-mode levels; if > 0, backward runs on Tensors, not arrays
        self.mutation_guards: int = 0  # number of running transforms whose functions must not write to captured tensors
        self.anomaly_mode: bool = False  # whether nodes store the stack trace of the forward call
        self.node_observers: tuple[Callable[[Any], None], ...] = ()  # called with each new node, for profilers
        self.observes_records = False  # whether `observe_record` must be called for each new node
        self.checks_nan: bool = True  # whether anomaly mode looks for NaN in gradients
        self.guarded_devices: bool = False  # whether a backend must make a device the current one to compute on it
        self.dispatching: bool = False  # whether a tensor subclass with a `__torch_dispatch__` exists
        self.on_tensors: bool = False  # whether wrapper subclasses may have graphs, with rules that take Tensors, not arrays
        # whether leaves may have hooks: a backward pass then tracks when each leaf's gradient is complete
        self.leaf_hooks: bool = False

    def count(self, name: str, change: int) -> None:
        """Add `change` to the counter called `name`. Threads may do this at the same time."""
        with _lock:
            setattr(self, name, getattr(self, name) + change)
            self.update_observing()

    def update_observing(self) -> None:
        """Set `observes_records` after a change of the other attributes."""
        self.observes_records = self.anomaly_mode or self.mutation_guards > 0 or bool(self.node_observers)


state: Final = State()
