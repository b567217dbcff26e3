"""The base class of all learning rate schedulers."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import Tensor

from ..optimizer import Group, Optimizer

__all__ = ["LRScheduler"]

Rates = list[float | Tensor]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from "
    "None, the closed form is used instead of the new chainable form, where available."
)
_MORE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Base class of all learning rate schedulers.

    A subclass defines `get_lr`, which returns the learning rates for the epoch `self.last_epoch`, computed from the
    current ones or from the initial ones, `self.base_lrs`. The constructor sets the learning rates for epoch 0.

    Args:
        optimizer: the optimizer whose learning rates are set. Load its checkpoint after creating the scheduler.
        last_epoch: the epoch to resume from; -1 to start.

    Raises:
        TypeError: `optimizer` is not an optimizer.
        KeyError: `last_epoch` is given, but the optimizer has not had a scheduler before.

    Example:
        >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> for epoch in range(2):
        ...     optimizer.step(); scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.25
    """

    _is_initial = False
    _get_lr_called_within_step = False
    _last_lr: Rates

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nLoad the checkpoint of the optimizer first, or leave last_epoch at -1 "
                    "for a new training run."
                )
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_step(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with _flag_set(self, "_is_initial"):
            self.step()

    def get_lr(self) -> Rates:
        """Compute the learning rate of each group for this epoch; called by `step` only.

        `get_last_lr` returns the current learning rates.
        """
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=2,
            )
        return self._next_lrs()

    def _next_lrs(self) -> Rates:
        raise NotImplementedError

    def get_last_lr(self) -> Rates:
        """Return the learning rates that the scheduler set last, one for each group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch. Call this after the optimizer's `step`.

        Args:
            epoch: the epoch to move to; deprecated.
        """
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                f"initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_MORE}",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in "
                "the opposite order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do this "
                f"will result in skipping the first value of the learning rate schedule. {_MORE}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with _flag_set(self, "_get_lr_called_within_step"):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        self._set_lrs(rates)

    def _set_lrs(self, rates: Rates) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = values(self.optimizer, "lr")

    def state_dict(self) -> dict[str, Any]:
        """Return the state, without the optimizer, for a checkpoint."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a result of `state_dict`."""
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler  # name before PyTorch 2.0; programs still subclass it


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def values(optimizer: Optimizer, key: str) -> list[Any]:
    """Return the value of an option for every parameter group."""
    return [_copy(group[key]) for group in optimizer.param_groups]


def set_value(group: Group, key: str, value: float | Tensor) -> None:
    """Set an option of a parameter group. A tensor is changed in place, since a device graph may have captured it."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return `value` if it is a list with one value for each parameter group; repeat a single value for all groups."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {groups}."
        )
    return [_copy(v) for v in value]


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


@contextmanager
def _flag_set(scheduler: LRScheduler, flag: str) -> Iterator[None]:
    setattr(scheduler, flag, True)
    try:
        yield
    finally:
        setattr(scheduler, flag, False)


def _watch_step(optimizer: Any) -> None:
    """Wrap the optimizer's `step` to record that it was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    step = optimizer.step.__func__
    reference = weakref.ref(optimizer)  # a strong reference would form a cycle and delay freeing the optimizer

    @functools.wraps(step)
    def watched_step(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return step(owner, *args, **kwargs)

    watched_step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = watched_step
