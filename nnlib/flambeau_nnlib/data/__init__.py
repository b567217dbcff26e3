"""Datasets, samplers, and the loader that combines them into batches."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .dataloader import DataLoader, default_collate, default_convert, get_worker_info
from .datapipes.datapipe import DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe, functional_datapipe
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .fetch import DatasetKind
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

_DatasetKind = DatasetKind

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "random_split",
]


def __getattr__(name: str) -> Any:
    if name == "_utils":  # loaded on first use
        return import_module("flambeau.utils.data._utils")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
