"""Coordination of processes that save or load a checkpoint: a coordinator decides, and an error in one process is
raised in all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..objects import broadcast_object_list, gather_object
from ..world import get_rank, get_world_size, is_initialized
from .api import CheckpointException

__all__ = ["Team"]


class Team:
    """The processes that save or load a checkpoint together.

    Args:
        group: their process group; default: all processes.
        coordinator: rank of the coordinator in the group.
        alone: whether this process saves or loads alone, without communication.
    """

    def __init__(self, group: Any = None, coordinator: int = 0, alone: bool = False) -> None:
        self.alone = alone or not is_initialized()
        self.group, self.coordinator = group, coordinator
        self.rank = 0 if self.alone else get_rank(group)
        self.size = 1 if self.alone else get_world_size(group)
        self.is_coordinator = self.rank == (0 if self.alone else coordinator)

    def agree(self, step: str, work: Callable[[], Any], decide: Callable[[list[Any]], list[Any]]) -> Any:
        """Run `work` in each process and `decide` on all results in the coordinator; return the element of the decision
        for this rank.

        Raises:
            CheckpointException: `work` failed in some process, or `decide` failed.
        """
        mine = _attempt(work)
        results: list[Any] = [mine]
        if not self.alone:
            collected: list[Any] | None = [None] * self.size if self.is_coordinator else None
            gather_object(mine, collected, group=self.group, group_dst=self.coordinator)
            results = collected or []
        decided: list[Any] = [None]
        if self.is_coordinator:
            failures = {rank: result for rank, result in enumerate(results) if isinstance(result, BaseException)}
            decided[0] = failures
            if not failures:
                decided[0] = _attempt(lambda: decide(results))
                if isinstance(decided[0], BaseException):
                    decided[0] = {self.rank: decided[0]}
        if not self.alone:
            broadcast_object_list(decided, group=self.group, group_src=self.coordinator)
        if isinstance(decided[0], dict):
            raise CheckpointException(step, decided[0])
        return decided[0][self.rank]

    def all_do(self, step: str, work: Callable[[], Any]) -> None:
        """Run `work` in each process. If it fails in one, all processes raise a CheckpointException."""
        self.agree(step, work, lambda results: [None] * len(results))


def _attempt(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        return error
