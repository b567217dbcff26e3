"""Schedulers that combine other schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, set_value, values

__all__ = ["ChainedScheduler", "SequentialLR"]


class CombinedLR(LRScheduler):
    """Base class of schedulers that combine several schedulers of one optimizer."""

    _schedulers: Sequence[LRScheduler]

    def _check_schedulers(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs "
                    f"to be specified when calling `step`, but got one at index {i} in the given schedulers "
                    "sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different "
                    f"from {type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Return the state, including the states of the combined schedulers, for a checkpoint."""
        return {
            **super().state_dict(),
            "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a result of `state_dict`."""
        super().load_state_dict({**state_dict, "_schedulers": self._schedulers})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)


class SequentialLR(CombinedLR):
    """Apply several schedulers one after the other.

    Args:
        optimizer: the optimizer whose learning rates are set.
        schedulers: the schedulers, all of this optimizer.
        milestones: for each scheduler after the first, the epoch at which it starts; it counts epochs from 0.
        last_epoch: the epoch to resume from; -1 to start.

    Raises:
        ValueError: no schedulers are given, the number of milestones is not the number of schedulers minus 1, or a
            scheduler belongs to another optimizer.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> warm_up = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm_up, decay], milestones=[2])
        >>> for epoch in range(4):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [0.1]
        [1.0]
        [0.5]
        [0.25]
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check_schedulers(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number "
                f"of milestone points, but got number of schedulers {len(schedulers)} and the number of "
                f"milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo the initial steps that the schedulers made when they were created."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self.recursive_undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Advance to the next epoch. Call this after the optimizer's `step`."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(CombinedLR):
    """Apply several schedulers in each step: each one modifies the learning rates that the previous one set.

    Args:
        schedulers: the schedulers, all of one optimizer.
        optimizer: the optimizer; default: that of the first scheduler.

    Raises:
        ValueError: no schedulers are given, or they belong to different optimizers.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> warm_up = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([warm_up, decay])
        >>> for epoch in range(3):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [0.25]
        [0.25]
        [0.125]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        self._check_schedulers(optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = values(optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Advance to the next epoch. Call this after the optimizer's `step`."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self.optimizer, "lr")
