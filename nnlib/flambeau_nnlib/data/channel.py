"""Transfer of batches from a worker to the main process in shared memory, without copying them through a pipe.

A batch is pickled with the buffers of its arrays out of band (pickle protocol 5). Each large buffer is written to an
anonymous in-memory file, and the pipe transfers the file descriptor. The kernel counts references: the memory is
released when the array that uses it is freed or when the processes exit. Small buffers go through the pipe and are then
copied to memory that is shared with processes forked later.
"""

from __future__ import annotations

import io
import itertools
import math
import mmap
import os
import pickle
import sys
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import flambeau as torch

from ..multiprocessing.reductions import check_leaf
from ..multiprocessing.shared import create_memory_file

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

__all__ = ["receive", "send"]

INLINE_LIMIT = 16 * 1024  # bytes; for smaller buffers, a pipe is faster than shared memory
_ALIGNMENT = 64  # bytes


class _SharedMemory(mmap.mmap):
    is_shared = True  # backends read this attribute of the object that owns an array's memory


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        return _reduce_tensor(obj) if type(obj) is torch.Tensor else NotImplemented


def _reduce_tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    check_leaf(tensor)
    raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return _rebuild_tensor, (
        pickle.PickleBuffer(raw),  # type: ignore[arg-type]  # NumPy declares the buffer protocol only for Python 3.12
        tensor.dtype,
        tuple(tensor.shape),
        str(tensor.device),
        tensor.requires_grad,
    )


def _rebuild_tensor(buffer: Any, dtype: torch.dtype, shape: tuple[int, ...], device: str, requires_grad: bool) -> torch.Tensor:
    if math.prod(shape) == 0:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        tensor = torch.frombuffer(buffer, dtype=dtype).reshape(shape)
    return tensor.to(device).requires_grad_(requires_grad)


def send(connection: Connection, obj: Any) -> None:
    """Send `obj` over one end of a duplex pipe. If it cannot be pickled, send nothing and raise."""
    parts = _pickle(obj)
    if sys.platform == "win32":  # pipes there transfer no file descriptors
        connection.send([bytearray(part) for part in parts])
        return
    files = {i: _write_to_memory_file(part) for i, part in enumerate(parts) if resource and len(part) > INLINE_LIMIT}
    try:
        connection.send([None if i in files else bytearray(part) for i, part in enumerate(parts)])
        for file in files.values():
            reduction.send_handle(connection, file, None)
    finally:
        for file in files.values():
            os.close(file)


def receive(connection: Connection) -> Any:
    """Return the object sent by the other end of `connection`. Raise EOFError if that end is closed."""
    head, *parts = [_map_received_file(connection) if part is None else part for part in connection.recv()]
    return pickle.loads(head, buffers=_move_to_shared_memory(parts))


def _move_to_shared_memory(parts: list[Any]) -> list[Any]:
    """Move the buffers that the pipe transferred to one block of shared memory; return these and the other buffers."""
    small = {i: len(part) for i, part in enumerate(parts) if isinstance(part, bytearray) and part}
    if not small:
        return parts
    starts = itertools.accumulate((-(-size // _ALIGNMENT) * _ALIGNMENT for size in small.values()), initial=0)
    memory = memoryview(_SharedMemory(-1, sum(small.values()) + len(small) * _ALIGNMENT))
    for (i, size), start in zip(small.items(), starts, strict=False):
        memory[start : start + size] = parts[i]
        parts[i] = memory[start : start + size]
    return parts


def _pickle(obj: Any) -> list[memoryview]:
    buffers: list[pickle.PickleBuffer] = []
    head = io.BytesIO()
    _Pickler(head, protocol=5, buffer_callback=buffers.append).dump(obj)
    return [head.getbuffer(), *(buffer.raw() for buffer in buffers)]


def _write_to_memory_file(part: memoryview) -> int:
    descriptor = create_memory_file()
    with open(descriptor, "wb", closefd=False) as file:
        file.write(part)
    return descriptor


def _map_received_file(connection: Connection) -> memoryview:
    if sys.platform == "win32":
        raise NotImplementedError("pipes transfer no file descriptors on Windows")
    descriptor = reduction.recv_handle(connection)
    try:
        memory = _SharedMemory(descriptor, 0)
    finally:
        os.close(descriptor)
    # Each mapping keeps a file descriptor open. If half of the allowed descriptors are in use, for example because the program
    # keeps all batches, copy the batch and close the mapping.
    if descriptor > resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2:
        with memory:
            return memoryview(bytearray(memory))
    return memoryview(memory)
