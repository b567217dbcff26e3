"""Gradient scaling for sharded parameters."""

from __future__ import annotations

from typing import Any

from ...amp import GradScaler
from .. import collectives
from ..reduction import ReduceOp
from ..tensor import DTensor

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `GradScaler` that skips a step in all processes if the gradients in any process are not finite.

    Args:
        device, init_scale, growth_factor, backoff_factor, growth_interval, enabled: see `torch.amp.GradScaler`.
        process_group: the processes; default: all.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(
            device,
            init_scale=init_scale,
            backoff_factor=backoff_factor,
            growth_factor=growth_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        self.process_group = process_group

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale, and share among all processes whether they are finite."""
        super().unscale_(optimizer)
        if not self._enabled:
            return
        progress = self._progress[id(optimizer)]
        progress.found_inf = [_local(found) for found in progress.found_inf]
        for found in progress.found_inf:
            collectives.all_reduce(found, ReduceOp.MAX, self.process_group)


def _local(tensor: Any) -> Any:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
