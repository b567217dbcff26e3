"""Checkpoints in folders, in PyTorch's format: files `__0_0.distcp` of `torch.save` records, and `.metadata`.

A checkpoint becomes valid when `.metadata` is renamed to its final name, which is atomic. The files of the checkpoint
that it replaces are removed afterwards. If a process is killed, either the old or the new checkpoint is complete.
"""

from __future__ import annotations

import io
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import IO, Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension.files import DamageError, file_label, reading
from flambeau.futures import Future

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
    """Location of an entry: file, offset and length in bytes."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if value is not None}


@dataclass
class _StoragePrefix:
    """Prefix of the names of the files that a process writes."""

    prefix: str


class SerializationFormat(Enum):
    """File format of tensors."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


class FileSystemBase(ABC):
    """Interface of file systems for readers and writers."""

    @abstractmethod
    def create_stream(self, path: Id, mode: str) -> Any:
        """Return a context manager that opens a file."""

    @abstractmethod
    def concat_path(self, path: Id, suffix: str) -> Id:
        """Return the path of a file in a folder."""

    @abstractmethod
    def rename(self, path: Id, new_path: Id) -> None:
        """Rename a file atomically; replace an existing one."""

    @abstractmethod
    def init_path(self, path: Id) -> Id:
        """Convert a path to the type of this file system."""

    @abstractmethod
    def mkdir(self, path: Id) -> None:
        """Create a folder and its parents."""

    @classmethod
    @abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether this file system supports the path."""

    @abstractmethod
    def exists(self, path: Id) -> bool:
        """Whether the file exists."""

    @abstractmethod
    def rm_file(self, path: Id) -> None:
        """Remove a file."""


class FileSystem(FileSystemBase):
    """The file system of the operating system."""

    @contextmanager
    def create_stream(self, path: Id, mode: str) -> Iterator[IO[Any]]:
        """Open a file as a context manager."""
        with open(path, mode) as file:
            yield file

    def concat_path(self, path: Id, suffix: str) -> Id:
        """Return the path of a file in a folder."""
        return Path(path) / suffix

    def init_path(self, path: Id) -> Id:
        """Convert a path to `pathlib.Path`."""
        return Path(path)

    def rename(self, path: Id, new_path: Id) -> None:
        """Rename a file; replace an existing one."""
        os.replace(path, new_path)

    def mkdir(self, path: Id) -> None:
        """Create a folder and its parents."""
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether the path is a local path, without `://`."""
        return "://" not in str(checkpoint_id)

    def exists(self, path: Id) -> bool:
        """Whether the file exists."""
        return Path(path).exists()

    def rm_file(self, path: Id) -> None:
        """Remove a file if it exists."""
        Path(path).unlink(missing_ok=True)


class FileSystemWriter(StorageWriter):
    """Write checkpoints to a folder.

    Args:
        path: the folder; it is created if missing.
        single_file_per_rank: whether each process writes one file, rather than one for each entry.
        sync_files: whether to call `os.fsync` on the files before the checkpoint becomes valid.
        thread_count: number of writing threads.
        per_thread_copy_ahead, cache_staged_state_dict: accepted for compatibility.
        overwrite: whether an existing checkpoint may be replaced.
        serialization_format: the file format; only `TORCH_SAVE` is supported.

    Raises:
        ValueError: `serialization_format` is not `TORCH_SAVE`.
        RuntimeError: while saving, a checkpoint exists and `overwrite` is False.
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
            raise ValueError("FileSystemWriter supports TORCH_SAVE only; use HuggingFaceStorageWriter for safetensors")
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.single_file_per_rank, self.sync_files = single_file_per_rank, sync_files
        self.thread_count, self.overwrite = thread_count, overwrite
        self.save_id = uuid.uuid4().hex

    def reset(self, checkpoint_id: Id | None = None) -> None:
        """Start a new checkpoint."""
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = uuid.uuid4().hex

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Store whether this process is the coordinator."""
        self.is_coordinator = is_coordinator

    def _file(self, name: str) -> Id:
        return self.fs.concat_path(self.path, name)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Create the folder. Raise RuntimeError if it contains a checkpoint and `overwrite` is False."""
        self.fs.mkdir(self.path)
        if not self.overwrite and self.fs.exists(self._file(METADATA)):
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Assign a prefix for file names to each process. It differs from the prefixes in an existing checkpoint."""
        new = f"{self.save_id[:8]}_" if self.fs.exists(self._file(METADATA)) else ""
        return [replace(plan, storage_data=_StoragePrefix(f"__{rank}_{new}")) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the items of a plan."""
        bins: list[list[WriteItem]] = [plan.items] if self.single_file_per_rank else [[item] for item in plan.items]
        if self.single_file_per_rank and self.thread_count > 1:
            bins = [plan.items[start :: self.thread_count] for start in range(self.thread_count)]
        prefix: str = plan.storage_data.prefix
        named = [(f"{prefix}{number}{SUFFIX}", items) for number, items in enumerate(bins) if items]

        def write(pair: tuple[str, list[WriteItem]]) -> list[WriteResult]:
            return self._write(*pair, planner)

        if self.thread_count == 1:
            results = [one for pair in named for one in write(pair)]
        else:
            with ThreadPoolExecutor(self.thread_count) as threads:
                results = [one for found in threads.map(write, named) for one in found]
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
        """Write `.metadata` to a temporary file and rename it; then remove the files of the previous checkpoint."""
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
        """Return the path and id of the checkpoint."""
        return StorageMeta(str(self.path), self.save_id)

    @property
    def checkpoint_id(self) -> Id:
        """Return the folder of the checkpoint."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether the path is a local path."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FileSystemReader(StorageReader):
    """Read checkpoints from a folder, including those that PyTorch wrote.

    Args:
        path: the folder.
    """

    def __init__(self, path: Id, _extension_registry: Any = None) -> None:
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}

    def reset(self, checkpoint_id: Id | None = None) -> None:
        """Start reading a checkpoint."""
        self.storage_data = {}
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Read the checkpoint's metadata. Raise FileNotFoundError if the folder has no checkpoint."""
        with self.fs.create_stream(self.fs.concat_path(self.path, METADATA), "rb") as file:
            metadata: Metadata = pickles.load(file)
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Store the locations of all entries."""
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Return the plan unchanged."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans unchanged."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read the items of a plan, file by file."""
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            if item.storage_index not in self.storage_data:
                raise DamageError(f"the metadata of {self.path} has no location of {item.storage_index}")
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
        with reading(file_label(file), f"entry {item.storage_index.fqn!r}", file.tell):
            if place.offset + place.length > file.seek(0, os.SEEK_END):
                raise RuntimeError(f"expected {place.length} bytes from byte {place.offset}, but the file ends at {file.tell()}")
            file.seek(place.offset)
            data = io.BytesIO(file.read(place.length))
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, data)
            return
        tensor = torch.load(data, map_location="cpu", weights_only=True)
        if not isinstance(tensor, Tensor):
            raise DamageError(f"entry {item.storage_index.fqn!r} of {file_label(file)} is not a tensor")
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
        """Return the folder of the checkpoint."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Id) -> bool:
        """Whether the path is a local path."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


def _write_item(*args: Any, **kwargs: Any) -> None:
    """Raise NotImplementedError: items are written by `FileSystemWriter.write_data`."""
    raise NotImplementedError("torch.distributed.checkpoint.filesystem._write_item is not supported; use FileSystemWriter")
