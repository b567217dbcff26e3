"""The scheduler `OneCycleLR`: learning rates increase once, then decrease."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .cyclic import MomentumCycler, Numbers
from .scheduler import Rates, check_optimizer, per_group

__all__ = ["OneCycleLR"]


class OneCycleLR(MomentumCycler):
    """Increase the learning rates once, then decrease them to almost zero, changing them after every batch, as in
    [Super-Convergence: Very Fast Training of Neural Networks Using Large Learning
    Rates](https://arxiv.org/abs/1708.07120).

    Args:
        optimizer: the optimizer whose learning rates are set.
        max_lr: highest learning rate, a number or a list with one for each group.
        total_steps: number of batches; default: `epochs * steps_per_epoch`.
        epochs: number of epochs.
        steps_per_epoch: number of batches in an epoch.
        pct_start: fraction of the batches in which the learning rates increase.
        anneal_strategy: `"cos"` or `"linear"`: shape of the increase and decrease.
        cycle_momentum: also cycle the momentum, or beta1, in the opposite direction.
        base_momentum: the lowest momentum.
        max_momentum: the highest momentum.
        div_factor: the first learning rate is `max_lr / div_factor`.
        final_div_factor: the last learning rate is the first one divided by this.
        three_phase: decrease to the first learning rate as slowly as increasing, then to the final one in a third phase.
        last_epoch: the batch to resume from; -1 to start.

    Raises:
        ValueError: an argument is out of range, or the optimizer has no momentum to cycle; in `step`, more than
            `total_steps` steps were made.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0, momentum=0.9)
        >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10, div_factor=2)
        >>> for batch in range(3):
        ...     optimizer.step(); scheduler.step(); print(round(scheduler.get_last_lr()[0], 3))
        0.75
        1.0
        0.95
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Numbers,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Numbers = 0.85,
        max_momentum: Numbers = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _count_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, begin=last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _next_lrs(self) -> Rates:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        progress = (step - start) / (phase["end_step"] - start)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                momentum = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], progress)
                self._set_momentum(group, momentum)
        return [self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], progress) for group in groups]

    def _anneal(self, start: float, end: float, progress: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * progress) + 1)
        return (end - start) * progress + start


def _count_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * steps_per_epoch


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """Return a dict for each phase of the cycle.

    Each has the index of the last batch, and the keys of a parameter group that hold the learning rate and the momentum at
    the start and at the end of the phase.
    """
    last = total_steps - 1
    up = float(pct_start * total_steps) - 1
    if three_phase:
        return [
            _phase(up, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
            _phase(
                float(2 * pct_start * total_steps) - 2,
                "max_lr",
                "initial_lr",
                "base_momentum",
                "max_momentum",
            ),
            _phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    return [
        _phase(up, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
        _phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum"),
    ]


def _phase(end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
    return {
        "end_step": end_step,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }
