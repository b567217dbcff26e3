"""Training with uneven inputs: processes without inputs take part in the collectives of those that still have some."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import flambeau as torch

__all__ = ["Join", "JoinHook", "Joinable"]

MANY = 1000  # a process warns after this number of steps in which only other processes have inputs


class JoinHook:
    """The collectives that a process runs for a `Joinable` after its inputs are exhausted."""

    def main_hook(self) -> None:
        """Run the collectives of one step. A process without inputs calls this for each step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once in every process, when the inputs of all processes are exhausted."""


class _JoinConfig:
    """State of a `Joinable` inside a `Join` context."""

    def __init__(self, enable: bool, throws: bool = False, is_first: bool = False) -> None:
        self.enable, self.throws, self.is_first = enable, throws, is_first
        self.divides_by_all = True
        self.active = 0  # the number of processes that still had inputs at the last step


class Joinable(ABC):
    """An object with per-step collectives that works inside a `Join` context."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig(False)

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the `JoinHook` of this object, given the keyword arguments of `Join`."""

    @property
    @abstractmethod
    def join_device(self) -> torch.device:
        """Return the device of the collectives that count the processes with inputs."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """Return the process group of the collectives."""


class Join:
    """Context manager for a training loop in which processes have different numbers of inputs.

    Args:
        joinables: objects that run collectives in the loop, in the order of their collectives.
        enable: whether the context has any effect.
        throw_on_early_termination: raise RuntimeError in all processes as soon as one process's inputs are exhausted.
        kwargs: passed to the hooks of the joinables.

    Raises:
        ValueError: no joinables are given, or they have different groups or devices.
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        if len({id(joinable.join_process_group) for joinable in joinables}) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        if len({joinable.join_device for joinable in joinables}) > 1:
            raise ValueError("Using join context manager with multiple devices")
        self._joinables, self._enable, self._throws = joinables, enable, throw_on_early_termination
        self._group, self._device = joinables[0].join_process_group, joinables[0].join_device
        for place, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, place == 0)
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Run the collectives of the remaining steps until the inputs of all processes are exhausted."""
        if not self._enable or kind is not None:
            return
        last, steps = True, 0
        while self._active() > 0:
            last = False
            if self._throws:
                self._tell_to_stop()
            steps += 1
            if steps == MANY:
                warnings.warn(f"a process ran {MANY} steps without inputs: are uneven inputs intended?", stacklevel=2)
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)
        for joinable in self._joinables:
            joinable._join_config = _JoinConfig(False)

    def _active(self) -> int:
        """Return the number of processes that run another step."""
        count = torch.zeros(1, device=self._device)
        torch.distributed.all_reduce(count, group=self._group)
        for joinable in self._joinables:
            joinable._join_config.active = int(count)
        return int(count)

    def _tell_to_stop(self) -> None:
        torch.distributed.all_reduce(torch.ones(1, device=self._device), group=self._group)
        raise RuntimeError(f"Rank {torch.distributed.get_rank(self._group)} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Announce a step to the processes whose inputs are exhausted. Each `Joinable` calls this before a step.

        Returns:
            A `Work` whose result is the number of processes at this step. None outside of a `Join`, and for joinables
            after the first.

        Raises:
            RuntimeError: a process's inputs are exhausted, and `throw_on_early_termination` is set.
        """
        config = joinable._join_config
        if not config.enable or not config.is_first:
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = torch.distributed.all_reduce(torch.ones(1, device=device), group=group, async_op=True)
        if config.throws:
            stops = torch.zeros(1, device=device)
            torch.distributed.all_reduce(stops, group=group)
            if stops.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work
