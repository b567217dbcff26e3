"""Interfaces of storage backends: `StorageWriter` and `StorageReader`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from flambeau.futures import Future

from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]

Id = str | os.PathLike[str]


@dataclass(frozen=True)
class WriteResult:
    """Key, size and location of a written item."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(ABC):
    """Interface of objects that write the items of plans."""

    @abstractmethod
    def reset(self, checkpoint_id: Id | None = None) -> None:
        """Start a new checkpoint."""

    @abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Prepare for writing. Called in every process."""

    @abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Add storage-specific data to this process's plan. Called in every process."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Add storage-specific data to the plans of all ranks. Called on the coordinator rank only."""

    @abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the items of a plan. Called in every process."""

    @abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata, which makes the checkpoint valid. Called in the coordinator."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether this writer supports the checkpoint id."""
        return True

    def storage_meta(self) -> StorageMeta | None:
        """Return the identity of the checkpoint, or None."""
        return None


class StorageReader(ABC):
    """Interface of objects that read the items of plans."""

    @abstractmethod
    def reset(self, checkpoint_id: Id | None = None) -> None:
        """Start reading a checkpoint."""

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Read the metadata of the checkpoint."""

    @abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Prepare for reading. Called in every process."""

    @abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Add storage-specific data to this process's plan. Called in every process."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Add storage-specific data to the plans of all ranks. Called on the coordinator rank only."""

    @abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read the items of a plan. Called in every process."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether this reader supports the checkpoint id."""
        return True
