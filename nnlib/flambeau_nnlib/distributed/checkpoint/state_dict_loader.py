"""`load`."""

from __future__ import annotations

import warnings
from typing import Any

from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader
from .metadata import STATE_DICT_TYPE
from .planner import LoadPlanner
from .state_dict_saver import has_state, stated
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
    """Fill a state from a checkpoint, in place: each process reads what it needs, however many had saved it.

    Args:
        state_dict: as it was saved: tensors are overwritten, whatever their layout, other entries replaced; modules and
            optimizers take their states.
        checkpoint_id: the folder.
        storage_reader: a reader in place of `FileSystemReader(checkpoint_id)`.
        planner: a planner in place of `DefaultLoadPlanner()`.
        process_group: the processes; all by default.
        no_dist: whether this process loads by itself, as it does where there is no job.

    Raises:
        RuntimeError: there is neither a folder nor a reader.
        CheckpointException: it has failed in one of the processes, as where an entry is missing or has another shape.
    """
    state = stated(state_dict)
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
    team.all_do("read", lambda: source.read_data(own, plans).result())


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: Id | None = None,
    storage_reader: StorageReader | None = None,
    process_group: Any = None,
) -> dict[str, Any]:
    """What a checkpoint has, or what begins with one of `keys`: whole tensors, in every process."""
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
    """`load` by its older name, which is deprecated."""
    message = "`load_state_dict` is deprecated and will be removed in future versions. Please use `load` instead."
    warnings.warn(message, FutureWarning, stacklevel=2)
    load_entries(state_dict, None, storage_reader, planner, Team(process_group, coordinator_rank, no_dist))
