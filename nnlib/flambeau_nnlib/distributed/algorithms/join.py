"""Training with different numbers of batches in each process: those that are done shadow what the others still exchange."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import flambeau as torch

__all__ = ["Join", "JoinHook", "Joinable"]

MANY = 1000  # steps that a process shadows before it warns


class JoinHook:
    """What a process does in place of a `Joinable`, once it has run out of inputs."""

    def main_hook(self) -> None:
        """Called for each step of the others: take part in the collectives of one."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called in every process once all have run out of inputs."""


class _JoinConfig:
    """Whether a `Joinable` is inside a `Join`, and how."""

    def __init__(self, enable: bool, throws: bool = False, is_first: bool = False) -> None:
        self.enable, self.throws, self.is_first = enable, throws, is_first
        self.divides_by_all = True
        self.active = 0  # how many processes still have inputs, as one that has not heard last


class Joinable(ABC):
    """Something whose steps exchange data between processes, and that can be shadowed."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig(False)

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What to do in its place, given the keyword arguments of `Join`."""

    @property
    @abstractmethod
    def join_device(self) -> torch.device:
        """The device of the collectives by which processes tell each other that they still have inputs."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The processes."""


class Join:
    """A context for a loop over inputs of which processes may have different numbers.

    Args:
        joinables: what exchanges data in the loop, in the order in which it does so.
        enable: whether to do anything.
        throw_on_early_termination: raise RuntimeError in all processes as soon as one has run out of inputs.
        kwargs: for the hooks of the joinables.

    Raises:
        ValueError: no joinables, or of different groups or devices.
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
        """Begin the loop."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Shadow the others until all have run out of inputs."""
        if not self._enable or kind is not None:
            return
        last, steps = True, 0
        while self._active() > 0:
            last = False
            if self._throws:
                self._tell_to_stop()
            steps += 1
            if steps == MANY:
                warnings.warn(f"a process has shadowed {MANY} steps of others: are the inputs this uneven?", stacklevel=2)
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)
        for joinable in self._joinables:
            joinable._join_config = _JoinConfig(False)

    def _active(self) -> int:
        """How many processes are at another step."""
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
        """Tell the processes that have run out of inputs that here is another step; each `Joinable` calls it before one.

        Returns:
            A Work whose result counts the processes at this step; None outside of a `Join`, and for all but its first joinable.

        Raises:
            RuntimeError: a process has run out of inputs, and the context was asked to raise then.
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
