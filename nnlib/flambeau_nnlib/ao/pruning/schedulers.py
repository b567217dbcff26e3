"""Schedulers: they set the `sparsity_level` of a sparsifier's groups, once for each epoch or step."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .sparsifiers import BaseSparsifier

__all__ = ["BaseScheduler", "CubicSL", "LambdaSL"]


class BaseScheduler:
    """Base class of schedulers. A subclass implements `get_sl`, which returns the sparsity level of each group.

    Args:
        sparsifier: the sparsifier. Its levels at this moment are kept as `base_sl`.
        last_epoch: the epoch before the first one.
        verbose: print each change.

    Raises:
        TypeError: if `sparsifier` is not an instance of `BaseSparsifier`.
    """

    def __init__(self, sparsifier: BaseSparsifier, last_epoch: int = -1, verbose: bool = False) -> None:
        if not isinstance(sparsifier, BaseSparsifier):
            raise TypeError(f"{type(sparsifier).__name__} is not an instance of torch.ao.pruning.BaseSparsifier")
        self.sparsifier: Any = sparsifier
        self.base_sl = [group["sparsity_level"] for group in sparsifier.groups]
        self.last_epoch, self.verbose = last_epoch, verbose
        _count_steps(self.sparsifier)
        self._step_count = 0
        self._get_sl_called_within_step = False
        self.step()

    def __repr__(self) -> str:
        return f"{type(self).__name__} (\nSparsifier {self.sparsifier}\n    base_sl: {self.base_sl}\n)"

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes except the sparsifier."""
        return {key: value for key, value in self.__dict__.items() if key != "sparsifier"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the attributes that `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_sl(self) -> list[float]:
        """Return the levels that the last call of `step` set."""
        return self._last_sl

    def get_sl(self) -> Sequence[float]:
        """Return the level of each group in the current epoch. `step` calls this method; users call `get_last_sl`."""
        self._warn_outside_step()
        raise NotImplementedError

    def _warn_outside_step(self) -> None:
        if not self._get_sl_called_within_step:
            message = "To get the last sparsity level computed by the scheduler, please use `get_last_sl()`."
            warnings.warn(message, stacklevel=3)

    def print_sl(self, is_verbose: bool, group: int, sl: float, epoch: int | None = None) -> None:
        """Print the new level of a group if `is_verbose`."""
        if is_verbose:
            subject = "Adjusting" if epoch is None else f"Epoch {epoch:5d}: adjusting"
            print(f"{subject} sparsity level of group {group} to {sl:.4e}.")

    def step(self, epoch: int | None = None) -> None:
        """Begin the next epoch: set the level of each group and enable updates of the masks."""
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        self.last_epoch += 1
        self._get_sl_called_within_step = True
        try:
            levels = self.get_sl()
        finally:
            self._get_sl_called_within_step = False
        for i, (group, level) in enumerate(zip(self.sparsifier.groups, levels, strict=False)):
            group["sparsity_level"] = level
            self.print_sl(self.verbose, i, level, epoch)
        self._last_sl = [group["sparsity_level"] for group in self.sparsifier.groups]
        self.sparsifier.enable_mask_update = True

    def _warn_about_order(self) -> None:
        """Warn if `sparsifier.step` was replaced, or was not called before the second `step` of the scheduler."""
        if not hasattr(self.sparsifier.step, "_with_counter"):
            message = (
                "Seems like `sparsifier.step()` has been overridden after sparsity scheduler initialization. Please, make sure "
                "to call `sparsifier.step()` before `scheduler.step()`."
            )
            warnings.warn(message, UserWarning, stacklevel=3)
        elif self.sparsifier._step_count < 1:
            message = (
                "Detected call of `scheduler.step()` before `sparsifier.step()`. You have to make sure you run the "
                "sparsifier.step() BEFORE any calls to the scheduler.step()."
            )
            warnings.warn(message, UserWarning, stacklevel=3)

    def _make_sure_a_list(self, var: Any) -> list[Any]:
        """Return one value for each group: the elements of a sequence, or copies of another value.

        Raises:
            ValueError: if the sequence has another length.
        """
        n = len(self.sparsifier.groups)
        if not isinstance(var, (list, tuple)):
            return [var] * n
        if len(var) != n:
            raise ValueError(f"Expected variable of length {n}, but got {len(var)}")
        return list(var)


def _count_steps(sparsifier: Any) -> None:
    """Replace `sparsifier.step` by a function that counts its calls in `sparsifier._step_count`."""
    sparsifier._step_count = 0
    if hasattr(sparsifier.step, "_with_counter"):
        return
    method, reference = sparsifier.step.__func__, weakref.ref(sparsifier)  # a strong reference would be a cycle

    @wraps(method)
    def step(*args: Any, **kwargs: Any) -> Any:
        instance = reference()
        assert instance is not None
        instance._step_count += 1
        return method(instance, *args, **kwargs)

    step._with_counter = True  # type: ignore[attr-defined]
    sparsifier.step = step


class LambdaSL(BaseScheduler):
    """Multiply the level of each group by a function of the epoch.

    Args:
        sparsifier: the sparsifier.
        sl_lambda: a function of the epoch that returns a factor, or a list with one function for each group.
        last_epoch: the epoch before the first one.
        verbose: print each change.

    Raises:
        ValueError: if the number of functions is not the number of groups.
    """

    def __init__(
        self,
        sparsifier: BaseSparsifier,
        sl_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(sl_lambda, (list, tuple)):
            sl_lambda = [sl_lambda] * len(sparsifier.groups)  # type: ignore[list-item]
        if len(sl_lambda) != len(sparsifier.groups):
            raise ValueError(f"Expected {len(sparsifier.groups)} lr_lambdas, but got {len(sl_lambda)}")
        self.sl_lambdas = list(sl_lambda)
        super().__init__(sparsifier, last_epoch, verbose)

    def get_sl(self) -> list[float]:
        """Return the base level of each group times its function of the epoch."""
        self._warn_outside_step()
        return [level * factor(self.last_epoch) for level, factor in zip(self.base_sl, self.sl_lambdas, strict=True)]


class CubicSL(BaseScheduler):
    """Raise the level ``s`` of each group from ``s_0`` to its final level ``s_f`` by a cubic function of the epoch ``t``.

    ``s = s_f + (s_0 - s_f) * (1 - (t - t_0) / (total_t * delta_t)) ** 3``, as in https://arxiv.org/abs/1710.01878. Except for
    the sparsifier, each argument may be a list with one value for each group.

    Args:
        sparsifier: the sparsifier. Its levels are the final levels.
        init_sl: the initial level ``s_0``.
        init_t: the first epoch of pruning, ``t_0``.
        delta_t: the number of epochs between updates.
        total_t: the number of updates.
        initially_zero: use the level 0 instead of ``s_0`` before ``t_0``.
        last_epoch: the epoch before the first one.
        verbose: print each change.
    """

    def __init__(
        self,
        sparsifier: BaseSparsifier,
        init_sl: Any = 0.0,
        init_t: Any = 0,
        delta_t: Any = 10,
        total_t: Any = 100,
        initially_zero: Any = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.sparsifier = sparsifier
        self.init_sl, self.init_t = self._make_sure_a_list(init_sl), self._make_sure_a_list(init_t)
        self.delta_t, self.total_t = self._make_sure_a_list(delta_t), self._make_sure_a_list(total_t)
        self.initially_zero = self._make_sure_a_list(initially_zero)
        super().__init__(sparsifier, last_epoch, verbose)

    @staticmethod
    def sparsity_compute_fn(s_0: float, s_f: float, t: int, t_0: int, dt: int, n: int, initially_zero: bool = False) -> float:
        """Return the level in epoch `t`, between `s_0` and `s_f`."""
        if initially_zero and t < t_0:
            return 0
        return max(s_0, min(s_f, s_f + (s_0 - s_f) * (1.0 - (t - t_0) / (dt * n)) ** 3))

    def get_sl(self) -> list[float]:
        """Return the level of each group in the current epoch."""
        self._warn_outside_step()
        groups = zip(self.init_sl, self.base_sl, self.init_t, self.delta_t, self.total_t, self.initially_zero, strict=True)
        return [self.sparsity_compute_fn(s_0, s_f, self.last_epoch, t_0, dt, n, zero) for s_0, s_f, t_0, dt, n, zero in groups]
