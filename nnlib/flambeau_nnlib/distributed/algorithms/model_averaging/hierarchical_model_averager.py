"""Hierarchical averaging: often over small groups, less often over larger ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from ...world import get_world_size, new_subgroups
from . import utils
from .averagers import ModelAverager

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Average parameters over groups of several sizes, each with a period. In each step, the largest group whose period
    divides the step is used.

    Args:
        period_group_size_dict: maps each period to a group size; both increase. The last size is the size of the entire group.
        warmup_steps: number of steps before the first average.
        process_group: the processes; all by default.

    Raises:
        ValueError: the sizes or periods do not increase, or the last size is not that of the group.
    """

    def __init__(self, period_group_size_dict: OrderedDict[int, int], warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        if periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if periods != sorted(set(periods)) or sizes != sorted(set(sizes)):
            raise ValueError("Periods and group sizes in arg ``period_group_size_dict`` must increase.")
        whole = get_world_size(self.process_group)
        if sizes[-1] != whole:
            raise ValueError(
                f"The last value in arg ``period_process_group_dict`` {sizes[-1]} must be the size of the group, {whole}."
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        self.period_process_group_dict = OrderedDict(
            (period, self.process_group if size == whole else new_subgroups(size)[0])
            for period, size in period_group_size_dict.items()
        )

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average the parameters over the largest group whose period divides this step, if any, and count the step."""
        if self.step >= self.warmup_steps:
            for period, group in reversed(self.period_process_group_dict.items()):
                if (self.step - self.warmup_steps) % period == 0:
                    utils.average_parameters_or_parameter_groups(params, group)
                    break
        self.step += 1
