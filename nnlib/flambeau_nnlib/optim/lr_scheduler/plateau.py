"""The scheduler that reduces learning rates when a metric stops improving."""

from __future__ import annotations

import math
import warnings
from typing import Any, SupportsFloat

from ..optimizer import Optimizer
from .scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, set_value, values

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rates by `factor` when a metric has stopped improving.

    Args:
        optimizer: the optimizer whose learning rates are set.
        mode: `"min"` for a metric to minimize, `"max"` for one to maximize.
        factor: the factor, below 1.
        patience: number of epochs without improvement to wait.
        threshold: minimum improvement that counts.
        threshold_mode: `"rel"` for a threshold relative to the best metric, `"abs"` for an absolute one.
        cooldown: number of epochs after a change of the learning rate that do not count as without improvement.
        min_lr: minimum learning rate, a number or a list with one for each group.
        eps: changes of a learning rate by at most this amount are not made.
        verbose: print every change.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
        >>> for loss in [3.0, 2.0, 2.0, 2.0]:
        ...     optimizer.step(); scheduler.step(loss); print(scheduler.get_last_lr())
        [1.0]
        [1.0]
        [1.0]
        [0.5]
    """

    verbose = False

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
        *,
        verbose: bool = False,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        check_optimizer(optimizer)
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = values(optimizer, "lr")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0
        if verbose:
            self.verbose = True

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Update the scheduler with the metric of an epoch.

        Args:
            metrics: the metric, a number or a tensor of one element.
            epoch: the epoch of the metric; deprecated.
        """
        metric = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(metric):
            self.best = metric
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = values(self.optimizer, "lr")

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def _is_better(self, metric: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        margin = sign * self.threshold
        bar = self.best * (1.0 + margin) if self.threshold_mode == "rel" else self.best + margin
        return metric < bar if self.mode == "min" else metric > bar

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param "
                    "group being added to the optimizer. Please modify the `min_lrs` field to match the "
                    "length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for i, (group, min_lr) in enumerate(zip(groups, self.min_lrs, strict=True)):
            old_lr = float(group["lr"])
            new_lr = max(old_lr * self.factor, min_lr)
            if old_lr - new_lr > self.eps:
                set_value(group, "lr", new_lr)
                if self.verbose:
                    print(f"Epoch {epoch:05d}: reducing learning rate of group {i} to {new_lr:.4e}.")

    def state_dict(self) -> dict[str, Any]:
        """Return the state, without the optimizer, for a checkpoint."""
        return {key: value for key, value in super().state_dict().items() if key != "verbose"}
