"""Memory that several processes map: files that exist in memory only, and how they are sent."""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import uuid
import weakref
from multiprocessing import reduction, resource_tracker, util
from pathlib import Path
from typing import Any

import flambeau as torch
from flambeau.extension import relocate

__all__ = [
    "SharedBlock",
    "create_memory_file",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "is_shared",
    "set_sharing_strategy",
    "share",
    "shared_block",
]

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_system" if sys.platform == "darwin" else "file_descriptor"

_SMALLEST = 16  # bytes: an empty file cannot be mapped; enough for one element of every dtype
_SHM = Path("/dev/shm")
_DIRECTORY = _SHM if _SHM.is_dir() else Path(tempfile.gettempdir())


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` knows.

    >>> sorted(get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The current strategy for sharing CPU tensors."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how tensors that are shared from now on are sent to other processes.

    Args:
        new_strategy: `"file_descriptor"` leaves nothing behind, however a process ends, but needs two open files for
            each tensor, and the sender has to live until the receiver has received it; `"file_system"` sends the name
            of a file in `/dev/shm`.

    Raises:
        AssertionError: there is no strategy of this name.
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_STRATEGIES}")
    if new_strategy == "file_system" and _DIRECTORY == _SHM:
        resource_tracker.ensure_running()  # before other processes start, so that all use the same tracker
    _strategy = new_strategy


def create_memory_file() -> int:
    """The descriptor of a new file that has no name and lives as long as somebody has it open or mapped."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("flambeau")
    with tempfile.TemporaryFile(dir=_DIRECTORY) as file:
        return os.dup(file.fileno())


class SharedBlock(mmap.mmap):
    """A mapped file. Sent to another process, it becomes a block there that maps the same memory."""

    descriptor: int
    path: Path | None

    @classmethod
    def create(cls, size: int) -> SharedBlock:
        """A new block of `size` zero bytes."""
        path = None
        if _strategy == "file_system":
            descriptor, name = tempfile.mkstemp(prefix="flambeau-", dir=_DIRECTORY)
            path = Path(name)
            _guard(path)
        else:
            descriptor = create_memory_file()
        os.truncate(descriptor, size or _SMALLEST)
        return cls.open(descriptor, path)

    @classmethod
    def open(cls, descriptor: int, path: Path | None) -> SharedBlock:
        """The block of an open file, which is mapped only once in a process. The block owns both arguments."""
        known = _by_file.get(_file_id(descriptor))
        if known is not None:
            _release(descriptor, path)
            return known
        block = cls(descriptor, 0)
        block.descriptor = descriptor
        block.path = path
        _by_file[_file_id(descriptor)] = block
        _by_address[torch.frombuffer(block, dtype=torch.uint8).data_ptr()] = block
        util.Finalize(block, _release, (descriptor, path), exitpriority=0)
        return block


# Blocks of this process. A tensor that lies in a block keeps it alive.
_by_file: weakref.WeakValueDictionary[tuple[int, int], SharedBlock] = weakref.WeakValueDictionary()
_by_address: weakref.WeakValueDictionary[int, SharedBlock] = weakref.WeakValueDictionary()


def _file_id(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _guard(path: Path) -> None:
    """Have the resource tracker remove the file if all processes end without doing so."""
    if path.parent == _SHM:
        resource_tracker.register(f"/{path.name}", "shared_memory")


def _release(descriptor: int, path: Path | None) -> None:
    os.close(descriptor)
    if path is not None:
        path.unlink(missing_ok=True)
        if path.parent == _SHM:
            resource_tracker.unregister(f"/{path.name}", "shared_memory")


def _reduce_block(block: SharedBlock) -> tuple[Any, ...]:
    if block.path is None:
        return _open_descriptor, (reduction.DupFd(block.descriptor),)
    # Every message uses a new hard link to the file, so that it can be opened even after the sender has ended.
    path = _DIRECTORY / f"flambeau-{uuid.uuid4().hex}"
    os.link(block.path, path)
    _guard(path)
    return _open_path, (path,)


def _open_descriptor(handle: Any) -> SharedBlock:
    return SharedBlock.open(handle.detach(), None)


def _open_path(path: Path) -> SharedBlock:
    return SharedBlock.open(os.open(path, os.O_RDWR), path)


reduction.ForkingPickler.register(SharedBlock, _reduce_block)


def shared_block(tensor: torch.Tensor) -> SharedBlock | None:
    """The block that holds the storage of `tensor`, if one does."""
    return _by_address.get(tensor.untyped_storage().data_ptr())


def is_shared(tensor: torch.Tensor) -> bool:
    """Whether `tensor` lies in memory that other processes can map."""
    return shared_block(tensor) is not None


def share(tensor: torch.Tensor) -> SharedBlock:
    """Move the storage of a CPU `tensor`, and all tensors in it, to shared memory, and return the block it is in."""
    block = shared_block(tensor)
    if block is None:
        block = _share_storage(tensor)
    return block


def _share_storage(tensor: torch.Tensor) -> SharedBlock:
    storage = tensor.untyped_storage()
    block = SharedBlock.create(storage.nbytes())
    memory = block_tensor(block, torch.uint8)
    memory[: storage.nbytes()].copy_(storage.as_tensor(torch.uint8))
    del storage  # so that `relocate` does not count this reference as another user of the storage
    relocate(tensor, memory)
    return block


def block_tensor(block: SharedBlock, dtype: torch.dtype) -> torch.Tensor:
    """The memory of `block` as a 1-D tensor."""
    return torch.frombuffer(block, dtype=dtype, count=len(block) // dtype.itemsize)
