"""Sharing device memory between processes, by handles, and keeping it alive.

The process that owns the memory keeps it alive until all processes that it was lent to have released it.  Each loan has a byte
in memory that both processes share, which the borrower clears on release.
"""

from __future__ import annotations

from typing import Any

from ..engine.devices import cuda as runtime
from ..engine.devices.devices import device, dispatch_key
from ..engine.tensors.tensor import Tensor, wrap
from ..engine.values import dtypes
from . import streams

__all__ = ["borrow", "collect", "ipc_collect", "lend"]

_lent: list[tuple[Any, Tensor]] = []  # a byte that is 1 while the borrower has the memory, and a tensor that keeps it alive


def lend(tensor: Tensor, byte: Any) -> tuple[bytes, int, int, int]:
    """The arguments of `borrow`: a handle of the tensor's memory, the offset and size of the storage in it, and the device.

    `byte` is a writable buffer of one byte that is shared with the other process.
    """
    collect()
    place, storage = tensor.device.index or 0, tensor.untyped_storage()
    streams.current_stream(place).synchronize()  # the other process cannot wait for work that is still queued here
    handle, offset = runtime.init().memory_handle(storage.data_ptr())
    byte[0] = 1
    _lent.append((byte, tensor.detach()))
    return handle, offset, storage.nbytes(), place


def borrow(handle: bytes, offset: int, size: int, index: int, byte: Any) -> Tensor:
    """The memory of another process's storage, as a tensor of bytes."""
    for own, tensor in _lent:
        if own is byte:  # it was sent back to its owner, which cannot open its own handle
            byte[0] = 0
            return tensor.untyped_storage().as_tensor(dtypes.uint8)

    def release() -> None:
        byte[0] = 0

    return wrap(
        runtime.init().open_memory(handle, offset, size, index, release), dispatch_key(dtypes.uint8, device("cuda", index))
    )


def collect() -> None:
    """Release lent memory that the borrowers have released."""
    _lent[:] = [loan for loan in _lent if loan[0][0]]


def ipc_collect() -> None:
    """Release the memory of tensors that were sent to other processes and are no longer used there."""
    runtime.init()
    collect()
