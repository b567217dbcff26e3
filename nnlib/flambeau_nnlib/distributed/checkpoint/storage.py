"""The protocol of those who write and read checkpoints."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]

Id = str | os.PathLike[str]


@dataclass(frozen=True)
class WriteResult:
    """Something that has been written, and where."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(ABC):
    """Writes what plans say."""

    @abstractmethod
    def reset(self, checkpoint_id: Id | None = None) -> None:
        """Begin a checkpoint."""

    @abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Prepare, in each process."""

    @abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Add to a process's plan, in each process."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Add to all plans, in the process that coordinates."""

    @abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write, in each process."""

    @abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Make the checkpoint valid, in the process that coordinates."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether this could write it."""
        return True

    def storage_meta(self) -> StorageMeta | None:
        """Which checkpoint it writes."""
        return None


class StorageReader(ABC):
    """Reads what plans say."""

    @abstractmethod
    def reset(self, checkpoint_id: Id | None = None) -> None:
        """Begin with a checkpoint."""

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the checkpoint says of itself."""

    @abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Prepare, in each process."""

    @abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Add to a process's plan, in each process."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Add to all plans, in the process that coordinates."""

    @abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read, in each process."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether this could read it."""
        return True
