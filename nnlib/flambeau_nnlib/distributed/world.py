"""Initialization of a distributed job, and its process groups."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NewType

import flambeau as torch
from flambeau.extension import require_processes

from .engine import Engine, Job, find_engine
from .group import ProcessGroup
from .rendezvous import rendezvous
from .store import PrefixStore, Store, default_timeout

__all__ = [
    "Backend",
    "BackendConfig",
    "GroupMember",
    "GroupName",
    "default_group",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_backend_config",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "group_of",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "record_comm",
    "shrink_group",
    "split_group",
]

default_pg_timeout = default_timeout
GroupName = NewType("GroupName", str)


class Backend(str):
    """Name of a transport backend; see `engine`."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {name}")
        return str.__new__(cls, name.lower())


class BackendConfig:
    """Mapping from device types to backends."""

    def __init__(self, backend: Backend) -> None:
        self.device_backend_map = {"cpu": backend, "cuda": backend}

    def get_device_backend_map(self) -> dict[str, Backend]:
        """Return the backends by device type."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{place}:{name}" for place, name in self.device_backend_map.items())


class GroupMember:
    """`WORLD` is the group of all processes. `NON_GROUP_MEMBER` is returned in place of a group to processes outside of it."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: Any = -100


group = GroupMember


# --- the job ----------------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """Return True: the package is always available."""
    return True


def is_gloo_available() -> bool:
    """Return True: the backend `gloo` is built in."""
    return True


def is_nccl_available() -> bool:
    """Whether the NCCL backend can be used: it needs CuPy with NCCL and a CUDA device."""
    return is_backend_available(Backend.NCCL)


def is_mpi_available() -> bool:
    """Whether the MPI backend can be used, which needs mpi4py."""
    return find_engine(Backend.MPI).available()


def is_ucc_available() -> bool:
    """Return False: flambeau has no UCC backend."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be used."""
    try:
        return find_engine(backend.lower()).available()
    except RuntimeError:
        return False


def is_xccl_available() -> bool:
    """Return False: flambeau has no XCCL backend."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher started this process: `python -m flambeau.distributed.run`, or PyTorch's torchrun."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_pg_count() -> int:
    """Return the number of groups that contain this process."""
    return len(_groups)


def is_initialized() -> bool:
    """Whether `init_process_group` has been called."""
    return GroupMember.WORLD is not None


def default_group() -> ProcessGroup:
    """Return the group of all processes. ValueError before `init_process_group`."""
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def group_of(group: Any) -> ProcessGroup | None:
    """Convert a `group` argument to a group: the default group for None, and None if this process is not in the group."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return None
    return default_group() if group is None else group


def named_group(name: str) -> ProcessGroup:
    """Return the group with a name. Raise RuntimeError if no group has it."""
    group = _groups.get(name)
    if group is None:
        raise RuntimeError(f"Could not resolve the process group registered under the name {name}")
    return group


_groups: dict[str, ProcessGroup] = {}
_pg_map: dict[ProcessGroup, tuple[str, Store | None]] = {}  # backend and store of each group
_group_count = 0  # number of groups created so far, equal in all processes
_opened_store: Store | None = None  # the job's store, if this process opened it
_job: Job | None = None


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Connect this process to the other processes of a job.

    Args:
        backend: `"gloo"` (the default), `"mpi"`, `"nccl"`, or a plugin's. `"cpu:gloo,cuda:gloo"` names one per device
            type; all must be equal.
        init_method: URL of the rendezvous, as for `rendezvous`; default: `env://`.
        timeout: how long to wait for other processes.
        world_size, rank: number of processes, and rank of this one.
        store: a store that all processes share, instead of `init_method`.

    Raises:
        ValueError: called twice, or an argument or environment variable is missing.
        RuntimeError: the backend is unknown or not installed.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    require_processes("torch.distributed.init_process_group()")
    name = Backend((backend or Backend.GLOO).rpartition(":")[2])
    engine = find_engine(name)
    timeout = timeout or default_timeout
    global _opened_store, _job
    if not engine.needs_store:
        store = None
    elif store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
        _opened_store = store
    elif rank < 0 or world_size < 1:
        raise ValueError("rank must be non-negative and world_size positive if using store")
    if store is not None:
        store.set_timeout(timeout)
    prefixed = None if store is None else PrefixStore(f"default{_restart_count()}", store)
    _job = engine.join(prefixed, rank, world_size, timeout)
    GroupMember.WORLD = _groups["0"] = _group(engine, _job, store, range(_job.world_size), "0", timeout, name)


def _restart_count() -> str:
    """Return the launcher's restart count. It is a part of the store's keys, because the store may outlive a restart."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "")


def _group(
    engine: Engine, job: Job, store: Store | None, ranks: Sequence[int], name: str, timeout: timedelta, backend: str
) -> ProcessGroup:
    group = ProcessGroup(job, store, ranks, name, timeout, backend, engine.device_type)
    _pg_map[group] = backend, store
    return group


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group, or the job if the group is the default group."""
    global _group_count, _opened_store, _job
    process_group = group_of(group)
    if process_group is None:
        return
    process_group.close()
    _groups.pop(process_group.group_name, None)
    _pg_map.pop(process_group, None)
    if process_group is GroupMember.WORLD:
        for subgroup in _groups.values():
            subgroup.close()
        process_group._job.leave()
        _groups.clear()
        _pg_map.clear()
        if _opened_store is not None:
            _opened_store.close()
        GroupMember.WORLD, _group_count, _opened_store, _job = None, 0, None, None


# --- groups -----------------------------------------------------------------------------------------------------------


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Create a group of some of the processes. All processes have to call this, in the same order.

    Args:
        ranks: global ranks of the processes; default: all.
        timeout: how long to wait for other processes.
        use_local_synchronization: only the group's processes call this. All of them must have created equally many
            groups before.

    Raises:
        ValueError: a rank does not exist or is given twice.
    """
    global _group_count
    world = default_group()
    group_ranks = list(range(world.size())) if ranks is None else (sorted(ranks) if sort_ranks else list(ranks))
    if len(set(group_ranks)) != len(group_ranks) or any(not 0 <= rank < world.size() for rank in group_ranks):
        raise ValueError(
            f"The new group's ranks {group_ranks} must be distinct and within the world size {world.size()} set by "
            "init_process_group"
        )
    _group_count += 1
    group: Any = GroupMember.NON_GROUP_MEMBER
    if world.rank() in group_ranks:
        name = f"{_group_count} of {group_ranks}" if use_local_synchronization else str(_group_count)
        engine = find_engine(world.name())
        group = _group(engine, world._job, world.store, group_ranks, name, timeout or world.timeout, world.name())
        group.group_desc = group_desc or name
        _groups[name] = group
    if not use_local_synchronization:  # all wait, so that the process with the store lives until all have connected
        world.run(lambda communicator: communicator.barrier(), False, "new_group")
    return group


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Create disjoint groups. Return this process's group (or None) and the list of all groups."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    groups = [new_group(ranks, timeout) for ranks in ranks_per_subgroup_list]
    mine = [group for group in groups if group is not GroupMember.NON_GROUP_MEMBER]
    if len(mine) > 1:
        raise ValueError(f"Rank {get_rank()} has appeared in more than one subgroup")
    return (mine[0] if mine else None), groups


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Split the processes of a group into groups of `group_size`. Return this process's group and the list of all groups."""
    if group_size is None:
        group_size = torch.cuda.device_count()
    world_size = get_world_size(group)
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if world_size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({world_size})")
    if world_size % group_size:
        raise ValueError(f"The world size ({world_size}) must be divisible by 'group_size={group_size}'")
    ranks = get_process_group_ranks(group)
    return new_subgroups_by_enumeration(
        [ranks[start : start + group_size] for start in range(0, world_size, group_size)], timeout
    )


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: Any = None,
) -> Any:
    """Split a group by lists of group ranks; return the new group that contains this process."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parents = get_process_group_ranks(parent_pg)
    return new_subgroups_by_enumeration([[parents[rank] for rank in ranks] for ranks in split_ranks], timeout)[0]


def shrink_group(ranks_to_exclude: Sequence[int], group: Any = None, shrink_flags: int = 0, pg_options: Any = None) -> Any:
    """Return a group without some ranks. The excluded processes need not call this; they may have died."""
    remaining = [global_rank for rank, global_rank in enumerate(get_process_group_ranks(group)) if rank not in ranks_to_exclude]
    return new_group(remaining, use_local_synchronization=True)


def get_rank(group: Any = None) -> int:
    """Return this process's rank in a group; -1 if it is not in the group."""
    process_group = group_of(group)
    return -1 if process_group is None else process_group.rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of processes in a group; -1 if this process is not in it."""
    process_group = group_of(group)
    return -1 if process_group is None else process_group.size()


def get_backend(group: Any = None) -> Backend:
    """Return the backend of a group."""
    process_group = group_of(group)
    if process_group is None:
        raise ValueError("Invalid process group specified")
    return Backend(process_group.name())


def get_backend_config(group: Any = None) -> str:
    """Return the backends of a group by device type, as `"cpu:gloo,cuda:gloo"`."""
    return repr(BackendConfig(get_backend(group)))


def get_default_backend_for_device(device: Any) -> str:
    """Return PyTorch's default backend for a device."""
    kind = torch.device(device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Convert a global rank to a rank in the group. ValueError if the process is not in the group."""
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Convert a rank in a group to a global rank. ValueError if the group has no such rank."""
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_process_group_ranks(group: Any) -> list[int]:
    """Return the global ranks of a group's processes."""
    process_group = group_of(group)
    return [] if process_group is None else list(process_group.ranks)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the rank of this process on its host, from the environment variable LOCAL_RANK."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


@contextmanager
def record_comm(name: str) -> Iterator[None]:
    """Context manager that names collectives for a profiler; it has no effect."""
    yield
