"""Saving of checkpoints: `save` and `async_save`."""

from __future__ import annotations

import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.utils.pytree import tree_map

from ..tensor import DTensor
from ..world import get_process_group_ranks, is_initialized, new_group
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import STATE_DICT_TYPE, Metadata
from .planner import SavePlanner
from .stateful import Stateful
from .storage import Id, StorageWriter
from .team import Team

__all__ = ["AsyncCheckpointerType", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """Whether `async_save` runs in a thread or a process. Flambeau always uses a thread."""

    THREAD = "thread"
    PROCESS = "process"


def collect_state_dicts(state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
    """Replace modules, optimizers and other `Stateful` values by their state dicts."""
    return {key: value.state_dict() if has_state(value) else value for key, value in state_dict.items()}


def has_state(value: Any) -> bool:
    return isinstance(value, Stateful) and not isinstance(value, (dict, Tensor))


def save(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: Id | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Save a state dict in parallel: each process writes its chunks of `DTensor`s; one process writes each of the other
    entries.

    All processes must call this. An existing checkpoint of the same name is replaced atomically when the new one is
    complete.

    Args:
        state_dict: tensors and picklable objects, in dictionaries and lists. Modules and optimizers are saved by their
            state dicts.
        checkpoint_id: folder of the checkpoint.
        storage_writer: a writer to use instead of `FileSystemWriter(checkpoint_id)`.
        planner: a planner to use instead of `DefaultSavePlanner()`.
        process_group: the processes that save; default: all.
        no_dist: whether this process saves alone, which is the default without an initialized process group.
        use_collectives: accepted for compatibility.

    Raises:
        RuntimeError: neither `checkpoint_id` nor `storage_writer` is given.
        CheckpointException: saving failed in at least one process.
    """
    team = Team(process_group, alone=no_dist)
    return save_entries(collect_state_dicts(state_dict), checkpoint_id, storage_writer, planner, team)


def save_entries(
    state: STATE_DICT_TYPE, checkpoint_id: Id | None, given: StorageWriter | None, planner: SavePlanner | None, team: Team
) -> Metadata:
    writer = _writer(checkpoint_id, given)
    planner = planner or DefaultSavePlanner()
    described: list[Metadata] = []

    def plan() -> Any:
        planner.set_up_planner(state, writer.storage_meta(), team.is_coordinator)
        writer.set_up_storage_writer(team.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    def decide(plans: list[Any]) -> list[Any]:
        plans, metadata = planner.create_global_plan(plans)
        described.append(metadata)
        return writer.prepare_global_plan(plans)

    own = planner.finish_plan(team.agree("plan", plan, decide))

    def finish(results: list[Any]) -> list[Any]:
        writer.finish(described[0], results)
        return [described[0]] * team.size

    metadata: Metadata = team.agree("write", lambda: writer.write_data(own, planner).wait(), finish)
    return metadata


def _writer(checkpoint_id: Id | None, writer: StorageWriter | None) -> StorageWriter:
    if writer is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        writer = FileSystemWriter(checkpoint_id)
    writer.reset(checkpoint_id)
    return writer


_threads = ThreadPoolExecutor(1, "flambeau checkpoint")
_groups: dict[tuple[int, ...], Any] = {}


def async_save(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: Id | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Any]:
    """Save a state dict in a background thread. Tensors are copied to the CPU before this function returns.

    Args:
        state_dict, checkpoint_id, storage_writer, planner, process_group, no_dist, use_collectives: see `save`.
        async_checkpointer_type, async_stager: accepted for compatibility; a thread saves a copy on the CPU.

    Returns:
        A future of the result or exception of `save`.
    """
    team = Team(_own_group(process_group), alone=no_dist)
    with torch.no_grad():
        copied = tree_map(_copy, collect_state_dicts(state_dict))
    return _threads.submit(save_entries, copied, checkpoint_id, storage_writer, planner, team)


def _own_group(process_group: Any) -> Any:
    """Return a separate process group for the thread, so that its collectives do not mix with those of the program."""
    if not is_initialized():
        return None
    ranks = tuple(get_process_group_ranks(process_group))
    known = _groups.get(ranks)
    if known is None or known[0] is not _world():
        known = _groups[ranks] = (_world(), new_group(list(ranks)))
    return known[1]


def _world() -> Any:
    from ..world import default_group

    return default_group()


def _copy(value: Any) -> Any:
    if isinstance(value, DTensor):
        return DTensor(value._local_tensor.detach().to("cpu", copy=True), value._spec, requires_grad=False)
    return value.detach().to("cpu", copy=True) if isinstance(value, Tensor) else value


def save_state_dict(
    state_dict: STATE_DICT_TYPE,
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """Deprecated name of `save`."""
    message = "`save_state_dict` is deprecated and will be removed in future versions. Please use `save` instead."
    warnings.warn(message, FutureWarning, stacklevel=2)
    storage_writer.reset()
    return save_entries(state_dict, None, storage_writer, planner, Team(process_group, coordinator_rank, no_dist))
