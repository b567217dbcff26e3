"""Distributed checkpoints: each process saves its part of the state, and any number of processes can load it.

>>> import tempfile
>>> from flambeau.distributed import checkpoint
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = checkpoint.save({"x": torch.arange(3), "step": 7}, checkpoint_id=folder)
...     state = {"x": torch.zeros(3, dtype=torch.int64), "step": 0}
...     checkpoint.load(state, checkpoint_id=folder)
>>> state
{'x': tensor([0, 1, 2]), 'step': 7}
"""

from __future__ import annotations

from . import state_dict as state_dict
from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter, QuantizedHuggingFaceStorageReader
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .optimizer import load_sharded_optimizer_state_dict
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict
from .storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "LoadPlan", "LoadPlanner",
    "Metadata", "QuantizedHuggingFaceStorageReader", "ReadItem", "SavePlan", "SavePlanner", "StorageReader", "StorageWriter",
    "TensorStorageMetadata", "WriteItem", "async_save", "load", "load_sharded_optimizer_state_dict", "load_state_dict", "save",
    "save_state_dict",
]  # fmt: skip
