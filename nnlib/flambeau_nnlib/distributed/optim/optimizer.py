"""The optimizer of parameters on other workers."""

from __future__ import annotations

from typing import Any

__all__ = ["DistributedOptimizer"]


class DistributedOptimizer:
    """An optimizer of parameters that lie on other workers, which the RPC framework reaches: there is none here.

    Args:
        optimizer_class: the optimizer on each worker.
        params_rref: references to the parameters.

    Raises:
        RuntimeError: always. `ZeroRedundancyOptimizer`, `fully_shard` and `DTensor` split optimizers without it.
    """

    def __init__(self, optimizer_class: type, params_rref: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"DistributedOptimizer({optimizer_class.__name__}): the RPC framework (torch.distributed.rpc) is not available; "
            "ZeroRedundancyOptimizer, fully_shard and DTensor split an optimizer's state without it"
        )

    def step(self, context_id: int) -> None:
        """A step on all workers."""
