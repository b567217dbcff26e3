"""Conversion between checkpoint folders and single files of `torch.save`."""

from __future__ import annotations

import os

import flambeau as torch

from .default_planner import DefaultSavePlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .state_dict_loader import _load_state_dict as _load_state_dict
from .state_dict_loader import load_entries
from .state_dict_saver import save_entries
from .team import Team

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]

Path = str | os.PathLike[str]


def dcp_to_torch_save(dcp_checkpoint_dir: Path, torch_save_path: Path) -> None:
    """Convert a checkpoint folder to one file, in this process alone."""
    state: dict[str, object] = {}
    load_entries(state, None, FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner(), Team(alone=True))
    torch.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: Path, dcp_checkpoint_dir: Path) -> None:
    """Convert a file of `torch.save` to a checkpoint folder, in this process alone.  Loading the file runs no code from it."""
    state = torch.load(torch_save_path)
    save_entries(state, None, FileSystemWriter(dcp_checkpoint_dir), DefaultSavePlanner(), Team(alone=True))
