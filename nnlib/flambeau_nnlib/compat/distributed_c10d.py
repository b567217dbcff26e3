"""The module `torch.distributed.distributed_c10d`, where PyTorch implements `torch.distributed`."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import flambeau as torch
from flambeau.extension import warn
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


def _get_default_store() -> Store | None:
    """Return the store of the default process group. Raise a ValueError before `init_process_group`."""
    return _pg_map[_get_default_group()][1]


def _get_global_rank(group: Any, rank: int) -> int:
    """Return the global rank of a rank in a group."""
    return distributed.get_global_rank(_get_default_group() if group is None else group, rank)


def _get_object_coll_device(group: Any = None) -> str:
    """Return "cpu", the device of the bytes of objects. Raise a ValueError before `init_process_group`."""
    if group is None:
        _get_default_group()
    return "cpu"


def _get_pg_default_device(group: Any = None) -> torch.device:
    """Return the device type of the tensors that a group communicates, with a warning that programs should not call this.

    Raises a ValueError before `init_process_group`.
    """
    warn(
        "`_get_pg_default_device` will be deprecated, it only stays for backward-compatibility reason. If you need to find a "
        "device for object collectives, please use `_get_object_coll_device`. If you need to query the device types supported "
        "by group, please use `_device_capability(group)`. "
    )
    return torch.device((group or _get_default_group()).device_type)


def _new_process_group_helper(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: groups are created by `new_group` from the ranks of the job."""
    raise NotImplementedError("process groups that are not part of a job are not supported; use torch.distributed.new_group")


class _World:
    """The process groups of this process."""

    @property
    def default_pg(self) -> Any:
        """The default group, or None."""
        return distributed.group.WORLD if distributed.is_initialized() else None

    @property
    def pg_map(self) -> dict[Any, Any]:
        """The backend and the store of each group."""
        return _pg_map

    @property
    def pg_group_ranks(self) -> dict[Any, dict[int, int]]:
        """The rank in each group of each global rank."""
        return {
            group: {rank: place for place, rank in enumerate(distributed.get_process_group_ranks(group))} for group in _pg_map
        }


_world = _World()


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
