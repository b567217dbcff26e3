"""How processes agree on a checkpoint: each does its part, one decides, and a failure of one is that of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..objects import broadcast_object_list, gather_object
from ..world import get_rank, get_world_size, is_initialized
from .api import CheckpointException

__all__ = ["Team"]


class Team:
    """The processes that save or load together.

    Args:
        group: their group; all by default.
        coordinator: the rank in the group of the one that decides.
        alone: whether this process does everything by itself.
    """

    def __init__(self, group: Any = None, coordinator: int = 0, alone: bool = False) -> None:
        self.alone = alone or not is_initialized()
        self.group, self.coordinator = group, coordinator
        self.rank = 0 if self.alone else get_rank(group)
        self.size = 1 if self.alone else get_world_size(group)
        self.is_coordinator = self.rank == (0 if self.alone else coordinator)

    def agree(self, step: str, work: Callable[[], Any], decide: Callable[[list[Any]], list[Any]]) -> Any:
        """Work in each process, let one decide what follows for each from all results; returns what does for this one.

        Raises:
            CheckpointException: either has failed somewhere.
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
        """Work in each process.  CheckpointException if it has failed somewhere."""
        self.agree(step, work, lambda results: [None] * len(results))


def _attempt(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        return error
