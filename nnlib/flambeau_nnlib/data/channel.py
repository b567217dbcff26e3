"""How a batch gets from a worker to the main process: without copying it through a pipe.

A batch is pickled with the memory of its arrays out of band (protocol 5). Each large buffer is written to an anonymous
file in memory, whose descriptor is sent. The kernel does the reference counting: the memory is released when the array
that lies in it is gone, or when the processes end, however they end. Small buffers go through the pipe, and into memory that
is shared with processes that fork from now on.
"""

from __future__ import annotations

import io
import itertools
import math
import mmap
import os
import pickle
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

INLINE_LIMIT = 16 * 1024  # bytes; up to there a pipe is faster
_ALIGNMENT = 64  # bytes


class _SharedMemory(mmap.mmap):
    is_shared = True  # what backends ask of the object that lends an array its memory


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        return _reduce_tensor(obj) if type(obj) is torch.Tensor else NotImplemented


def _reduce_tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    check_leaf(tensor)
    raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return _rebuild_tensor, (
        pickle.PickleBuffer(raw),
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
    """Send `obj` over one end of a duplex pipe. Nothing is sent if it cannot be pickled."""
    parts = _pickle(obj)
    files = {i: _write(part) for i, part in enumerate(parts) if resource and len(part) > INLINE_LIMIT}
    try:
        connection.send([None if i in files else bytearray(part) for i, part in enumerate(parts)])
        for file in files.values():
            reduction.send_handle(connection, file, None)
    finally:
        for file in files.values():
            os.close(file)


def receive(connection: Connection) -> Any:
    """What the other end of `connection` sent; EOFError if it closed."""
    head, *parts = [_map(connection) if part is None else part for part in connection.recv()]
    return pickle.loads(head, buffers=_shared(parts))


def _shared(parts: list[Any]) -> list[Any]:
    """The buffers, with those that came through the pipe in one piece of shared memory."""
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


def _write(part: memoryview) -> int:
    descriptor = create_memory_file()
    with open(descriptor, "wb", closefd=False) as file:
        file.write(part)
    return descriptor


def _map(connection: Connection) -> memoryview:
    descriptor = reduction.recv_handle(connection)
    try:
        memory = _SharedMemory(descriptor, 0)
    finally:
        os.close(descriptor)
    # A mapping keeps a descriptor open. When those run short, as for one who collects all batches, copy
    # instead.
    if descriptor > resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2:
        with memory:
            return memoryview(bytearray(memory))
    return memoryview(memory)
