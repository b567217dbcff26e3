"""Schedulers that multiply all learning rates by a common factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rates

__all__ = ["ConstantLR", "ExponentialLR", "LinearLR", "MultiStepLR", "PolynomialLR", "StepLR"]


class FactorLR(LRScheduler):
    """Base class of schedulers that multiply the current learning rates by a factor in each epoch, and have a closed
    form.

    The current learning rates are multiplied, not the initial ones, because other schedulers may have changed them.
    """

    def _factor(self) -> float:
        """Return the learning rate of this epoch divided by that of the previous epoch."""
        raise NotImplementedError

    def _closed_form(self) -> float:
        """Return the learning rate of this epoch divided by the initial one."""
        raise NotImplementedError

    def _next_lrs(self) -> Rates:
        factor = self._factor()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> Rates:
        factor = self._closed_form()
        return [lr * factor for lr in self.base_lrs]


class StepLR(FactorLR):
    """Multiply the learning rates by `gamma` every `step_size` epochs.

    Args:
        optimizer: the optimizer whose learning rates are set.
        step_size: number of epochs between changes.
        gamma: the factor.
        last_epoch: the epoch to resume from; -1 to start.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for epoch in range(4):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [1.0]
        [0.5]
        [0.5]
        [0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma if self.last_epoch != 0 and self.last_epoch % self.step_size == 0 else 1

    def _closed_form(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(FactorLR):
    """Multiply the learning rates by `gamma` at given epochs.

    Args:
        optimizer: the optimizer whose learning rates are set.
        milestones: the epochs of the changes; an epoch given twice applies `gamma` twice.
        gamma: the factor.
        last_epoch: the epoch to resume from; -1 to start.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
        >>> for epoch in range(3):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [0.5]
        [0.5]
        [0.25]
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else 1

    def _closed_form(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(FactorLR):
    """Multiply the learning rates by `factor` for the first epochs.

    Args:
        optimizer: the optimizer whose learning rates are set.
        factor: the factor, from 0 to 1.
        total_iters: number of epochs with the factor.
        last_epoch: the epoch to resume from; -1 to start.

    Raises:
        ValueError: the factor is not between 0 and 1.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> for epoch in range(2):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [0.5]
        [1.0]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1

    def _closed_form(self) -> float:
        return 1 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(FactorLR):
    """Change the learning rates linearly over the first epochs, for example for a warm-up.

    Args:
        optimizer: the optimizer whose learning rates are set.
        start_factor: factor in epoch 0, in (0, 1].
        end_factor: factor from epoch `total_iters` on, in [0, 1].
        total_iters: number of epochs of the change.
        last_epoch: the epoch to resume from; -1 to start.

    Raises:
        ValueError: a factor is out of range.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> for epoch in range(3):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [0.75]
        [1.0]
        [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _closed_form(self) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(FactorLR):
    """Multiply the learning rates by `gamma` every epoch.

    Args:
        optimizer: the optimizer whose learning rates are set.
        gamma: the factor.
        last_epoch: the epoch to resume from; -1 to start.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> for epoch in range(2):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [0.5]
        [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1 if self._is_initial else self.gamma

    def _closed_form(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(FactorLR):
    """Decrease the learning rates to zero along `(1 - epoch / total_iters) ** power`.

    Args:
        optimizer: the optimizer whose learning rates are set.
        total_iters: the epoch at which the learning rates are zero.
        power: exponent of the polynomial.
        last_epoch: the epoch to resume from; -1 to start.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2, power=2)
        >>> for epoch in range(2):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [0.25]
        [0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        remaining, previous_remaining = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        factor: float = (remaining / previous_remaining) ** self.power
        return factor

    def _closed_form(self) -> float:
        factor: float = (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
        return factor
