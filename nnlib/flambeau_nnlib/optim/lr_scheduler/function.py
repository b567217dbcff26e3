"""Schedulers defined by functions of the epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rates, values

__all__ = ["LambdaLR", "MultiplicativeLR"]

Factor = Callable[[int], float]


class FunctionLR(LRScheduler):
    """Base class of schedulers whose factors are functions of the epoch: one for each group, or one for all."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Any] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the state. It includes no functions, but the attributes of callable objects."""
        saved = [None if isinstance(f, FunctionType) else f.__dict__.copy() for f in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a result of `state_dict`."""
        functions = self.lr_lambdas
        super().load_state_dict({**state_dict, "lr_lambdas": functions})
        for f, saved in zip(functions, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                f.__dict__.update(saved)


class LambdaLR(FunctionLR):
    """Set the learning rates to the initial ones times a function of the epoch.

    Args:
        optimizer: the optimizer whose learning rates are set.
        lr_lambda: the function, or a list with one for each group.
        last_epoch: the epoch to resume from; -1 to start.

    Raises:
        ValueError: the number of functions is not the number of groups.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
        >>> for epoch in range(3):
        ...     optimizer.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def _next_lrs(self) -> Rates:
        return [lr * f(self.last_epoch) for lr, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(FunctionLR):
    """Multiply the learning rates in each epoch by a function of the epoch.

    Args:
        optimizer: the optimizer whose learning rates are set.
        lr_lambda: the function, or a list with one for each group.
        last_epoch: the epoch to resume from; -1 to start.

    Raises:
        ValueError: the number of functions is not the number of groups.
        TypeError: `lr_lambda` is not callable.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> for epoch in range(3):
        ...     optimizer.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.125]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1) -> None:
        for f in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def _next_lrs(self) -> Rates:
        if self._is_initial:
            return values(self.optimizer, "lr")
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for group, f in zip(groups, self.lr_lambdas, strict=True)]
