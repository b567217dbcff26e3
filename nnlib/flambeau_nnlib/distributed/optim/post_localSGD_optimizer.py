"""An optimizer wrapper that periodically averages parameters over processes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...optim import Optimizer
from ..algorithms.model_averaging.averagers import ModelAverager

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Wrap an optimizer: after each step, an averager may average the parameters over processes.

    Args:
        optim: the local optimizer.
        averager: for example a `PeriodicModelAverager`.
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """Return the state of the wrapped optimizer."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the wrapped optimizer and the step count of the averager."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`."""
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.", stacklevel=2
            )
            self.averager.step = 0

    def step(self, closure: Callable[[], Any] | None = None) -> None:
        """Run a step of the wrapped optimizer, then the averager."""
        self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group to the wrapped optimizer."""
        self.optim.add_param_group(param_group)
