"""Post-local SGD: average gradients over all processes in the first steps, then only within small groups."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...world import new_subgroups
from .default_hooks import averaged

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """State of `post_localSGD_hook`.

    Args:
        process_group: group of the first steps; default: all processes.
        subgroup: group of later steps; default: the processes of one host.
        start_localSGD_iter: first step that uses `subgroup`.
        post_local_gradient_allreduce: whether gradients are averaged in later steps at all.
    """

    __slots__ = ("iter", "post_local_gradient_allreduce", "process_group", "start_localSGD_iter", "subgroup")

    def __init__(
        self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.subgroup, self.start_localSGD_iter = process_group, subgroup, start_localSGD_iter
        self.post_local_gradient_allreduce, self.iter = post_local_gradient_allreduce, 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count a step if `bucket` is the last bucket of the step."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> torch.futures.Future[Tensor]:
    """Average the gradients of a bucket over all processes or over a small group: a hook for `DistributedDataParallel`.

    Combine it with `PostLocalSGDOptimizer`, or call a `PeriodicModelAverager` after each optimizer step.
    """
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return averaged(bucket.buffer(), state.process_group)
    if not state.post_local_gradient_allreduce:
        future: torch.futures.Future[Tensor] = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return averaged(bucket.buffer(), state.subgroup)
