"""Placeholder of the RPC-based `DistributedOptimizer`."""

from __future__ import annotations

from typing import Any

__all__ = ["DistributedOptimizer"]


class DistributedOptimizer:
    """An optimizer of parameters in other processes, which requires remote procedure calls. Flambeau does not support
    it.

    Args:
        optimizer_class: optimizer class in each process.
        params_rref: remote references to the parameters.

    Raises:
        RuntimeError: always. Use `ZeroRedundancyOptimizer`, `fully_shard` or `DTensor` to shard optimizer states.
    """

    def __init__(self, optimizer_class: type, params_rref: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"DistributedOptimizer({optimizer_class.__name__}): the RPC framework (torch.distributed.rpc) is not available; "
            "use ZeroRedundancyOptimizer, fully_shard or DTensor to shard an optimizer's state"
        )

    def step(self, context_id: int) -> None:
        """Not reached: the constructor raises."""
