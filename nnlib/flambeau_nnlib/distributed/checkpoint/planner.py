"""Plans of what each process writes or reads, and the interfaces of planners."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from math import prod
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .metadata import STATE_DICT_TYPE, ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties

__all__ = [
    "BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner", "TensorWriteData",
    "WriteItem", "WriteItemType",
]  # fmt: skip


class WriteItemType(Enum):
    """Kind of an item to write: a full tensor, a shard of a tensor, or a pickled object."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """Kind of an item to read: a region of a tensor, or a pickled object."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """Size of a pickled object in bytes; 0 if unknown."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A chunk to write, and the properties and size of its tensor."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: torch.Size


@dataclass(frozen=True)
class WriteItem:
    """An item to write: a tensor chunk or a pickled object."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Return the size of the full tensor in bytes; None if the item is not a tensor."""
        if self.tensor_data is None:
            return None
        return int(prod(self.tensor_data.size)) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """An item to read. For tensors: copy the region of shape `lengths` at `storage_offsets` of a stored chunk to
    `dest_offsets` of the local tensor.
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: torch.Size
    storage_index: MetadataIndex
    storage_offsets: torch.Size
    lengths: torch.Size


@dataclass(frozen=True)
class SavePlan:
    """The items that a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """The items that a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Interface of planners that decide what each process writes. Subclass `DefaultSavePlanner` to customize."""

    @abstractmethod
    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Receive the state to save. Called in every process."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """Return the items that this process could write. Called in every process."""

    @abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Return the final plan of each process, and the metadata. Called in the coordinator."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Receive the final plan of this process."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """Return the tensor or bytes to write for an item."""


class LoadPlanner(ABC):
    """Interface of planners that decide what each process reads. Subclass `DefaultLoadPlanner` to customize."""

    @abstractmethod
    def set_up_planner(self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        """Receive the state to fill. Called in every process."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """Return the items that this process needs. Called in every process."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Return the final plan of each process. Called in the coordinator."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Receive the final plan of this process."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Receive a pickled object."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Return the buffer to read a pickled object into."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """Return the tensor to read an item into."""

    @abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Called when the data of an item has been read into `tensor`."""
