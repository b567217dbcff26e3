"""Periodic averaging of parameters (Lin et al., 2018, "Don't Use Large Mini-Batches, Use Local SGD")."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...world import default_group
from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Base class of objects that average parameters over a group.

    Args:
        process_group: the processes; all by default.
    """

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = default_group() if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Called after each step: average the parameters if they are averaged in this step."""


class PeriodicModelAverager(ModelAverager):
    """Average the parameters in every `period`-th step.

    Args:
        period: number of steps between averages.
        warmup_steps: number of steps before the first average.
        process_group: the processes; all by default.

    Raises:
        ValueError: the period is not positive, or `warmup_steps` negative.
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing parameters will "
                "be no less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass.",
                stacklevel=2,
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average the parameters if this is a `period`-th step, and count the step."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
