"""Loading the state of an optimizer from a checkpoint."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from .default_planner import DefaultLoadPlanner
from .metadata import STATE_DICT_TYPE, TensorStorageMetadata
from .nested import unflatten_state_dict
from .state_dict_loader import load_entries
from .storage import StorageReader
from .team import Team

__all__ = ["load_sharded_optimizer_state_dict"]


def load_sharded_optimizer_state_dict(
    model_state_dict: STATE_DICT_TYPE, optimizer_key: str, storage_reader: StorageReader, planner: Any = None
) -> STATE_DICT_TYPE:
    """Load the state of an optimizer; each tensor in it is sharded like its parameter.

    Args:
        model_state_dict: the model's state dict of `DTensor`s. The optimizer's tensors of a parameter are sharded like
            the parameter.
        optimizer_key: key of the optimizer's state in the checkpoint.
        storage_reader: reads the checkpoint.
        planner: a planner to use instead of `DefaultLoadPlanner()`.
    """
    metadata = storage_reader.read_metadata()
    flat: dict[str, Any] = {}
    paths = metadata.planner_data or {}
    for name, entry in metadata.state_dict_metadata.items():
        path = paths.get(name, (name,))
        if path[0] != optimizer_key:
            continue
        flat[name] = None
        if isinstance(entry, TensorStorageMetadata):
            like: Any = model_state_dict.get(str(path[2])) if len(path) > 2 else None
            same = like is not None and tuple(like.shape) == tuple(entry.size)
            dtype = entry.properties.dtype
            flat[name] = torch.zeros_like(like, dtype=dtype) if same else torch.empty(entry.size, dtype=dtype)
    state = unflatten_state_dict(flat, {name: paths.get(name, (name,)) for name in flat})
    load_entries(state, None, storage_reader, planner or DefaultLoadPlanner(), Team())
    return state
