"""The scheduler `CyclicLR`, and the base class that it shares with `OneCycleLR`."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..optimizer import Group, Optimizer
from .scheduler import LRScheduler, Rates, check_optimizer, per_group, set_value

__all__ = ["CyclicLR"]

Numbers = float | list[float]


class MomentumCycler(LRScheduler):
    """Base class of schedulers that can decrease the momentum (or beta1) while the learning rate increases, and vice versa."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, base_momentum: Numbers, max_momentum: Numbers, begin: bool) -> tuple[list[float], list[float]]:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        bases = per_group("base_momentum", self.optimizer, base_momentum)
        maxima = per_group("max_momentum", self.optimizer, max_momentum)
        if begin:
            for group, base, maximum in zip(self.optimizer.param_groups, bases, maxima, strict=True):
                self._set_momentum(group, maximum)
                group["max_momentum"] = maximum
                group["base_momentum"] = base
        return bases, maxima

    def _set_momentum(self, group: Group, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(MomentumCycler):
    """Cycle the learning rates between two bounds, changing them after every batch, as in [Cyclical Learning Rates for
    Training Neural Networks](https://arxiv.org/abs/1506.01186).

    Args:
        optimizer: the optimizer whose learning rates are set.
        base_lr: lower bound, a number or a list with one for each group.
        max_lr: upper bound, a number or a list with one for each group.
        step_size_up: number of batches of the increasing half.
        step_size_down: number of batches of the decreasing half; default: `step_size_up`.
        mode: `"triangular"`; `"triangular2"`, which halves the range in every cycle; or `"exp_range"`, which multiplies
            the range by `gamma` in every batch.
        gamma: factor of `mode="exp_range"`.
        scale_fn: a function that returns the factor of the range, instead of `mode`.
        scale_mode: what `scale_fn` is called with: the number of the `"cycle"`, or the number of `"iterations"`.
        cycle_momentum: also cycle the momentum, in the opposite direction.
        base_momentum: lower bound of the momentum.
        max_momentum: upper bound of the momentum.
        last_epoch: the batch to resume from; -1 to start.

    Raises:
        ValueError: `mode` is unknown, or the optimizer has no momentum to cycle.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0, momentum=0.9)
        >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=1.0, max_lr=2.0, step_size_up=2)
        >>> for batch in range(4):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [1.5]
        [2.0]
        [1.5]
        [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Numbers,
        max_lr: Numbers,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Numbers = 0.8,
        max_momentum: Numbers = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(base_momentum, max_momentum, begin=last_epoch == -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the factor of the range in cycle or batch `x`."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        scale: float = 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x
        return scale

    def _next_lrs(self) -> Rates:
        cycles = self.last_epoch / self.total_size
        cycle = math.floor(1 + cycles)
        x = 1.0 + cycles - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, base, maximum in bounds:
                self._set_momentum(group, maximum - (maximum - base) * height * scale)
        return [base + (top - base) * height * scale for base, top in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the state. If `scale_fn` is a callable object, its attributes are included."""
        f = self._scale_fn_custom
        saved = None if f is None or isinstance(f, FunctionType) else f.__dict__.copy()
        return {**super().state_dict(), "_scale_fn_custom": saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a result of `state_dict`."""
        f = self._scale_fn_custom
        super().load_state_dict({**state_dict, "_scale_fn_custom": f})
        saved = state_dict["_scale_fn_custom"]
        if saved is not None:
            f.__dict__.update(saved)
