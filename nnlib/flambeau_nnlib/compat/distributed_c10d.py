"""The module `torch.distributed.distributed_c10d`, where PyTorch implements `torch.distributed`."""

from __future__ import annotations

import operator
from typing import Any

from flambeau_nnlib import distributed
from flambeau_nnlib.distributed.reduction import ReduceOp
from flambeau_nnlib.distributed.store import Store as Store
from flambeau_nnlib.distributed.world import *  # noqa: F403
from flambeau_nnlib.distributed.world import _pg_map as _pg_map
from flambeau_nnlib.distributed.world import named_group

__all__: list[str] = []


def _get_default_group() -> Any:
    """Return the default process group. Raise a ValueError before `init_process_group`."""
    if not distributed.is_initialized():
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return distributed.group.WORLD


def _resolve_process_group(group_name: str) -> Any:
    """Return the process group with a name. Raise RuntimeError if no group has it."""
    return named_group(group_name)


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """Return the reduction that multiplies the sum over all ranks by a factor."""
    return ReduceOp("PREMUL_SUM", operator.iadd, factor)


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process is not a member of a process group."""
    return group is not None and distributed.get_rank(group) < 0


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'flambeau.distributed.distributed_c10d' has no attribute '{name}'")
    return getattr(distributed, name)
