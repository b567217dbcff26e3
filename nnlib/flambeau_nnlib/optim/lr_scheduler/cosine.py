"""Schedulers that decrease learning rates along a half cosine, once or repeatedly."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rates, values

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """Decrease the learning rates along a half cosine, as in [SGDR: Stochastic Gradient Descent with Warm
    Restarts](https://arxiv.org/abs/1608.03983) but without restarts.

    Args:
        optimizer: the optimizer whose learning rates are set.
        T_max: the epoch of the minimum; afterwards the learning rates increase again.
        eta_min: minimum learning rate.
        last_epoch: the epoch to resume from; -1 to start.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
        >>> for epoch in range(3):
        ...     optimizer.step(); scheduler.step(); print(round(scheduler.get_last_lr()[0], 3))
        0.75
        0.25
        0.0
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _next_lrs(self) -> Rates:
        if self._is_initial:
            return values(self.optimizer, "lr")
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # after the minimum: avoid a division by 0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [group["lr"] + (lr - self.eta_min) * rise for lr, group in zip(self.base_lrs, groups, strict=True)]
        factor = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [factor * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> Rates:
        height = self._height(self.last_epoch)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Decrease the learning rates along a half cosine, repeatedly, as in [SGDR: Stochastic Gradient Descent with Warm
    Restarts](https://arxiv.org/abs/1608.03983).

    Args:
        optimizer: the optimizer whose learning rates are set.
        T_0: number of epochs until the first restart.
        T_mult: factor of the number of epochs after each restart.
        eta_min: minimum learning rate.
        last_epoch: the epoch to resume from; -1 to start.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> for epoch in range(3):
        ...     optimizer.step(); scheduler.step(); print(round(scheduler.get_last_lr()[0], 3))
        0.5
        1.0
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _next_lrs(self) -> Rates:
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advance to the next epoch, or to a given one.

        Args:
            epoch: the epoch to move to; may be fractional.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self._advance()
            epoch = self.last_epoch + 1
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._seek(epoch)
        self._update_lr(math.floor(epoch))

    def _advance(self) -> None:
        self.T_cur += 1
        if self.T_cur >= self.T_i:
            self.T_cur %= self.T_i
            self.T_i *= self.T_mult

    def _seek(self, epoch: float) -> None:
        if epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
