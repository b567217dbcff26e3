"""A debugger breakpoint in one of several processes."""

from __future__ import annotations

import pdb
from datetime import timedelta

from .collectives import barrier
from .world import get_rank

__all__ = ["breakpoint"]

_skipped = 0


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float | None = 3600) -> None:
    """Open the debugger in one process while the others wait at a barrier until it continues.

    Args:
        rank: the process that opens the debugger.
        skip: number of calls to ignore first.
        timeout_s: how many seconds the other processes wait; None uses the group's timeout.
    """
    global _skipped
    if _skipped < skip:
        _skipped += 1
        return
    if get_rank() == rank:
        debugger = pdb.Pdb()
        debugger.message(f"Type 'up' to get to the frame that called breakpoint(rank={rank})")
        debugger.set_trace()
    barrier(timeout=None if timeout_s is None else timedelta(seconds=timeout_s))
