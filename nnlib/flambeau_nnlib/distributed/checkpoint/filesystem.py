"""Checkpoints in folders, in the format of PyTorch's: files `__0_0.distcp` of records of `torch.save`, and `.metadata`.

A checkpoint becomes valid when its `.metadata` takes its name, which happens at once; the files of the one that it replaces are
removed after that. So whatever is killed at whatever moment, there is the old one or the new one.
"""

from __future__ import annotations

import io
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import IO, Any

import flambeau as torch

from . import pickles
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem, WriteItemType
from .storage import Id, StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystem", "FileSystemBase", "FileSystemReader", "FileSystemWriter", "SerializationFormat"]

METADATA = ".metadata"
SUFFIX = ".distcp"
VERSION = "1.0.0"


@dataclass
class _StorageInfo:
    """Where something is: in a file of the folder, from a byte on, so many bytes."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if value is not None}


@dataclass
class _StoragePrefix:
    """How the names of a process's files begin."""

    prefix: str


class SerializationFormat(Enum):
    """How tensors stand in files."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


class FileSystemBase(ABC):
    """What readers and writers need of a place for files."""

    @abstractmethod
    def create_stream(self, path: Id, mode: str) -> Any:
        """A context for an open file."""

    @abstractmethod
    def concat_path(self, path: Id, suffix: str) -> Id:
        """The path of something in a folder."""

    @abstractmethod
    def rename(self, path: Id, new_path: Id) -> None:
        """Give a file another name, at once, and in place of one that has it."""

    @abstractmethod
    def init_path(self, path: Id) -> Id:
        """A path as this file system has it."""

    @abstractmethod
    def mkdir(self, path: Id) -> None:
        """Create a folder, and those that it is in."""

    @classmethod
    @abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether there could be a checkpoint."""

    @abstractmethod
    def exists(self, path: Id) -> bool:
        """Whether there is such a file."""

    @abstractmethod
    def rm_file(self, path: Id) -> None:
        """Remove a file."""


class FileSystem(FileSystemBase):
    """That of the operating system."""

    @contextmanager
    def create_stream(self, path: Id, mode: str) -> Iterator[IO[Any]]:
        """A context for an open file."""
        with open(path, mode) as file:
            yield file

    def concat_path(self, path: Id, suffix: str) -> Id:
        """The path of something in a folder."""
        return Path(path) / suffix

    def init_path(self, path: Id) -> Id:
        """The path."""
        return Path(path)

    def rename(self, path: Id, new_path: Id) -> None:
        """Give a file another name."""
        os.replace(path, new_path)

    def mkdir(self, path: Id) -> None:
        """Create a folder, and those that it is in."""
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether the path is in a folder that there is, or that can be made."""
        return "://" not in str(checkpoint_id)

    def exists(self, path: Id) -> bool:
        """Whether there is such a file."""
        return Path(path).exists()

    def rm_file(self, path: Id) -> None:
        """Remove a file, if it is there."""
        Path(path).unlink(missing_ok=True)


class FileSystemWriter(StorageWriter):
    """Writes checkpoints to a folder.

    Args:
        path: the folder, which is made.
        single_file_per_rank: whether each process writes one file, rather than one for each entry.
        sync_files: whether files are on the disk before the checkpoint becomes valid.
        thread_count: how many threads write.
        per_thread_copy_ahead, cache_staged_state_dict: accepted for compatibility.
        overwrite: whether a checkpoint that is there may be replaced.
        serialization_format: `TORCH_SAVE`.

    Raises:
        ValueError: another format is asked for.
        RuntimeError: while saving, there is a checkpoint and `overwrite` is off.
    """

    def __init__(
        self,
        path: Id,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        if serialization_format is not SerializationFormat.TORCH_SAVE:
            raise ValueError("FileSystemWriter writes TORCH_SAVE; for safetensors there is HuggingFaceStorageWriter")
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.single_file_per_rank, self.sync_files = single_file_per_rank, sync_files
        self.thread_count, self.overwrite = thread_count, overwrite
        self.save_id = uuid.uuid4().hex

    def reset(self, checkpoint_id: Id | None = None) -> None:
        """Begin a checkpoint."""
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = uuid.uuid4().hex

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Remember whether this process coordinates."""
        self.is_coordinator = is_coordinator

    def _file(self, name: str) -> Id:
        return self.fs.concat_path(self.path, name)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder."""
        self.fs.mkdir(self.path)
        if not self.overwrite and self.fs.exists(self._file(METADATA)):
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Give each process a beginning of names, other than those of a checkpoint that is there."""
        new = f"{self.save_id[:8]}_" if self.fs.exists(self._file(METADATA)) else ""
        return [replace(plan, storage_data=_StoragePrefix(f"__{rank}_{new}")) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the items of a plan."""
        bins: list[list[WriteItem]] = [plan.items] if self.single_file_per_rank else [[item] for item in plan.items]
        if self.single_file_per_rank and self.thread_count > 1:
            bins = [plan.items[start :: self.thread_count] for start in range(self.thread_count)]
        prefix: str = plan.storage_data.prefix
        named = [(f"{prefix}{number}{SUFFIX}", items) for number, items in enumerate(bins) if items]
        with ThreadPoolExecutor(self.thread_count) as threads:
            results = [one for found in threads.map(lambda pair: self._write(pair[0], pair[1], planner), named) for one in found]
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def _write(self, name: str, items: Sequence[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        results = []
        with self.fs.create_stream(self._file(name), "wb") as file:
            for item in items:
                start, data = file.tell(), planner.resolve_data(item)
                if item.type is WriteItemType.BYTE_IO:
                    assert isinstance(data, io.BytesIO)
                    file.write(data.getbuffer())
                else:
                    assert isinstance(data, torch.Tensor)
                    record = io.BytesIO()
                    torch.save(data.cpu().contiguous().clone(), record)
                    file.write(record.getbuffer())
                length = file.tell() - start
                results.append(WriteResult(item.index, length, _StorageInfo(name, start, length)))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write `.metadata` under another name, and rename it; then remove the files of the checkpoint before."""
        places = {result.index: result.storage_data for several in results for result in several}
        before = self._files_of(self._file(METADATA))
        described = replace(metadata, storage_data=places, storage_meta=self.storage_meta(), version=VERSION)
        temporary = self._file(f"{METADATA}.tmp")
        with self.fs.create_stream(temporary, "wb") as file:
            pickles.dump(described, file)
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        self.fs.rename(temporary, self._file(METADATA))
        for name in before - {place.relative_path for place in places.values()}:
            self.fs.rm_file(self._file(name))

    def _files_of(self, path: Id) -> set[str]:
        if not self.fs.exists(path):
            return set()
        with self.fs.create_stream(path, "rb") as file:
            return {place.relative_path for place in pickles.load(file).storage_data.values()}

    def storage_meta(self) -> StorageMeta | None:
        """Which checkpoint it writes."""
        return StorageMeta(str(self.path), self.save_id)

    @property
    def checkpoint_id(self) -> Id:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether it is a path of the operating system's."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FileSystemReader(StorageReader):
    """Reads checkpoints from a folder, PyTorch's as well.

    Args:
        path: the folder.
    """

    def __init__(self, path: Id, _extension_registry: Any = None) -> None:
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}

    def reset(self, checkpoint_id: Id | None = None) -> None:
        """Begin with a checkpoint."""
        self.storage_data = {}
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the checkpoint says of itself.  FileNotFoundError if there is none."""
        with self.fs.create_stream(self.fs.concat_path(self.path, METADATA), "rb") as file:
            metadata: Metadata = pickles.load(file)
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Remember where everything is."""
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan, as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans, as they are."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read the items of a plan, file by file."""
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for name, items in by_file.items():
            with self.fs.create_stream(self.fs.concat_path(self.path, name), "rb") as file:
                for item in sorted(items, key=lambda one: self.storage_data[one.storage_index].offset):
                    self._read(file, item, planner)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def _read(self, file: IO[bytes], item: ReadItem, planner: LoadPlanner) -> None:
        place = self.storage_data[item.storage_index]
        file.seek(place.offset)
        data = io.BytesIO(file.read(place.length))
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, data)
            return
        tensor = torch.load(data, map_location="cpu", weights_only=True)
        for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
            tensor = tensor.narrow(dim, start, length)
        target = planner.resolve_tensor(item)
        if target.shape != tensor.shape:
            raise AssertionError(f"req {item.storage_index} mismatch sizes {target.shape} vs {tensor.shape}")
        with torch.no_grad():
            target.copy_(tensor)
        planner.commit_tensor(item, target)

    @property
    def checkpoint_id(self) -> Id:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether it is a path of the operating system's."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)
