"""Loading of checkpoints: `load`."""

from __future__ import annotations

import warnings
from typing import Any

from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader
from .metadata import STATE_DICT_TYPE
from .planner import LoadPlanner
from .state_dict_saver import collect_state_dicts, has_state
from .storage import Id, StorageReader
from .team import Team

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: Id | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state dict from a checkpoint in place. Each process reads only the data that it needs. The
    number of processes that saved the checkpoint may differ.

    Args:
        state_dict: same structure as the saved one. Tensors are overwritten, whatever their sharding, and other entries
            are replaced; modules and optimizers load their states.
        checkpoint_id: folder of the checkpoint.
        storage_reader: a reader to use instead of `FileSystemReader(checkpoint_id)`.
        planner: a planner to use instead of `DefaultLoadPlanner()`.
        process_group: the processes that load; default: all.
        no_dist: whether this process loads alone, which is the default without an initialized process group.

    Raises:
        RuntimeError: neither `checkpoint_id` nor `storage_reader` is given.
        CheckpointException: loading failed in a process, for example because an entry is missing or has a different
            shape.
    """
    state = collect_state_dicts(state_dict)
    load_entries(state, checkpoint_id, storage_reader, planner, Team(process_group, alone=no_dist))
    for key, value in state_dict.items():
        if has_state(value):
            value.load_state_dict(state[key])
        else:
            state_dict[key] = state[key]


def load_entries(
    state: STATE_DICT_TYPE, checkpoint_id: Id | None, reader: StorageReader | None, planner: LoadPlanner | None, team: Team
) -> None:
    if reader is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        reader = FileSystemReader(checkpoint_id)
    reader.reset(checkpoint_id)
    source, plans = reader, planner or DefaultLoadPlanner()

    def plan() -> Any:
        metadata = source.read_metadata()
        plans.set_up_planner(state, metadata, team.is_coordinator)
        source.set_up_storage_reader(metadata, team.is_coordinator)
        return source.prepare_local_plan(plans.create_local_plan())

    def decide(found: list[Any]) -> list[Any]:
        return source.prepare_global_plan(plans.create_global_plan(found))

    own = plans.finish_plan(team.agree("plan", plan, decide))
    team.all_do("read", lambda: source.read_data(own, plans).wait())


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: Id | None = None,
    storage_reader: StorageReader | None = None,
    process_group: Any = None,
) -> dict[str, Any]:
    """Load all entries of a checkpoint, or those that start with one of `keys`, as full tensors in every process."""
    state: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner({keys} if isinstance(keys, str) else keys)
    load_entries(state, checkpoint_id, storage_reader, planner, Team(process_group))
    return state


def load_state_dict(
    state_dict: STATE_DICT_TYPE,
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """Deprecated name of `load`."""
    message = "`load_state_dict` is deprecated and will be removed in future versions. Please use `load` instead."
    warnings.warn(message, FutureWarning, stacklevel=2)
    load_entries(state_dict, None, storage_reader, planner, Team(process_group, coordinator_rank, no_dist))


def _load_state_dict(
    state_dict: STATE_DICT_TYPE,
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """Load into a state dictionary, in place; `load` without its checks."""
    load_entries(state_dict, None, storage_reader, planner, Team(process_group, coordinator_rank, no_dist))
