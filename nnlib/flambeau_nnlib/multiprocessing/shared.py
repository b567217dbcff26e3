"""Shared memory blocks, and how they are sent to other processes."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
import uuid
import weakref
from functools import cache
from multiprocessing import reduction, util
from pathlib import Path
from typing import Any

import flambeau as torch
from flambeau.extension import WEBASSEMBLY, relocate

from . import memory_cleaner

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

_POSIX = "tensors in shared memory require a POSIX system with processes; send copies, such as tensor.numpy()"
_SMALLEST = 16  # bytes; an empty file cannot be mapped, and one element of any dtype fits
_SHM = Path("/dev/shm")
_DIRECTORY = _SHM if _SHM.is_dir() else Path(tempfile.gettempdir())


def get_all_sharing_strategies() -> set[str]:
    """Return the names that `set_sharing_strategy` accepts.

    >>> sorted(get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return the current strategy for sharing CPU tensors."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Set how tensors that are shared from now on are sent to other processes.

    Args:
        new_strategy: `"file_descriptor"` needs an open file for each tensor, and the sender must live until the tensor
            is received. `"file_system"` sends the name of a file in `/dev/shm`, and needs no open file. A helper
            process removes such files when their owner is killed.

    Raises:
        AssertionError: the strategy is unknown.
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_STRATEGIES}")
    if new_strategy == "file_system" and sys.platform != "win32":
        memory_cleaner.connect()  # start the helper now, so that processes started later use the same one
    _strategy = new_strategy


def create_memory_file() -> int:
    """Return the descriptor of a new file without a name, which exists as long as a process has it open or mapped."""
    if sys.platform == "linux":
        return os.memfd_create("flambeau")
    with tempfile.TemporaryFile(dir=_DIRECTORY) as file:
        return os.dup(file.fileno())


class SharedBlock:
    """Memory that several processes map. Sent to another process, it becomes a block that maps the same memory.

    It is mapped with the C library, because `mmap.mmap` would keep a file descriptor for each block.
    """

    is_shared = True  # backends look for this attribute on the object that owns an array's memory
    __array_interface__: dict[str, Any]  # NumPy and others read the address from it

    def __init__(self, descriptor: int, path: Path | None) -> None:
        """Map an open file. The block closes `descriptor`, immediately if it has a path, and later removes the path."""
        status = os.fstat(descriptor)
        self.size, self.path = status.st_size, path
        self.descriptor = descriptor if path is None else None
        self.address = _map(descriptor, self.size)
        self.__array_interface__ = {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}
        _by_file[status.st_dev, status.st_ino] = self
        _by_address[self.address] = self
        weakref.finalize(self, _unmap, self.address, self.size).atexit = False
        util.Finalize(self, _release, (self.descriptor, path), exitpriority=-10)  # -10: after queue threads, at -5
        if path is not None:
            os.close(descriptor)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return ctypes.c_ubyte.from_address(self.address + range(self.size)[index]).value

    def __setitem__(self, index: int, value: int) -> None:
        ctypes.c_ubyte.from_address(self.address + range(self.size)[index]).value = value

    @classmethod
    def create(cls, size: int) -> SharedBlock:
        """Create a block of `size` zero bytes.

        Raises:
            OSError: not enough shared memory is available.
            NotImplementedError: on Windows and WebAssembly.
        """
        if sys.platform == "win32" or WEBASSEMBLY:
            raise NotImplementedError(_POSIX)
        size = size or _SMALLEST
        if _strategy == "file_descriptor":
            descriptor = create_memory_file()
            os.truncate(descriptor, size)
            return cls(descriptor, None)
        path = _new_path()
        memory_cleaner.report(memory_cleaner.OWN, str(path))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # Reserve the memory, or raise an error if too little is available: a write would later kill the process with SIGBUS.
        os.posix_fallocate(descriptor, 0, size) if hasattr(os, "posix_fallocate") else os.truncate(descriptor, size)
        return cls(descriptor, path)

    @classmethod
    def of_descriptor(cls, descriptor: int) -> SharedBlock:
        """Return the block of a received file. The process maps each file only once."""
        known = _by_file.get(_file_id(descriptor))
        if known is None:
            return cls(descriptor, None)
        os.close(descriptor)
        return known

    @classmethod
    def of_path(cls, received: Path) -> SharedBlock:
        """Return the block of a file received by name. This process then owns the name, and must remove the file.

        Raises:
            RuntimeError: the file does not exist any more.
        """
        try:
            descriptor = os.open(received, os.O_RDWR)
        except FileNotFoundError:
            raise RuntimeError("the memory of a tensor that was received is gone: the process that sent it was killed") from None
        known = _by_file.get(_file_id(descriptor))
        if known is not None:
            os.close(descriptor)
            _remove(received)
            return known
        path = _new_path()
        memory_cleaner.report(memory_cleaner.OWN, str(path))
        received.rename(path)
        memory_cleaner.report(memory_cleaner.GONE, str(received))
        return cls(descriptor, path)


# Blocks of this process, by file and by address. Tensors that are stored in a block keep the block alive.
_by_file: weakref.WeakValueDictionary[tuple[int, int], SharedBlock] = weakref.WeakValueDictionary()
_by_address: weakref.WeakValueDictionary[int, SharedBlock] = weakref.WeakValueDictionary()


def _file_id(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


@cache
def _c_library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    library.mmap.restype = ctypes.c_void_p
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return library


def _map(descriptor: int, size: int) -> int:
    """Map a file, and return the address."""
    if sys.platform == "win32":
        raise NotImplementedError(_POSIX)
    address: int | None = _c_library().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return address


def _unmap(address: int, size: int) -> None:
    _c_library().munmap(address, size)


def _new_path() -> Path:
    return _DIRECTORY / f"flambeau-{uuid.uuid4().hex}"


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    memory_cleaner.report(memory_cleaner.GONE, str(path))


def _release(descriptor: int | None, path: Path | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
    if path is not None:
        _remove(path)


def _reduce_block(block: SharedBlock) -> tuple[Any, ...]:
    if sys.platform != "win32" and block.path is None:
        assert block.descriptor is not None
        return _open_descriptor, (reduction.DupFd(block.descriptor),)
    # Every message uses a new hard link to the file, so that it can be opened even after the sender has ended.
    assert block.path is not None
    path = _new_path()
    memory_cleaner.report(memory_cleaner.SENT, str(path))
    os.link(block.path, path)
    return SharedBlock.of_path, (path,)


def _open_descriptor(handle: Any) -> SharedBlock:
    return SharedBlock.of_descriptor(handle.detach())


reduction.ForkingPickler.register(SharedBlock, _reduce_block)


def shared_block(tensor: torch.Tensor) -> SharedBlock | None:
    """Return the block that contains the storage of `tensor`, or None."""
    return _by_address.get(tensor.untyped_storage().data_ptr())


def is_shared(tensor: torch.Tensor) -> bool:
    """Whether `tensor` is in memory that other processes can map."""
    return shared_block(tensor) is not None


def share(tensor: torch.Tensor) -> SharedBlock:
    """Move the storage of a CPU tensor, with all its views, to shared memory, and return its block."""
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
    """Return the memory of `block` as a 1-D tensor."""
    whole = len(block) // dtype.itemsize * dtype.itemsize
    return torch.as_tensor(block)[:whole].view(dtype)
