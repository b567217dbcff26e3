"""Device memory that several processes use: handles of it, and how long it has to stay.

The process that made the memory keeps it until all that it was lent to have let go.  Each loan has a byte in memory that both
processes see, which the other one clears.
"""

from __future__ import annotations

from typing import Any

from ..runtime import cuda as runtime
from ..runtime.devices import device, dispatch_key
from ..tensors.tensor import Tensor, wrap
from ..values import dtypes
from . import streams

__all__ = ["borrow", "collect", "ipc_collect", "lend"]

_lent: list[tuple[Any, Tensor]] = []  # a byte, 1 while the other process has the memory, and a tensor that keeps it


def lend(tensor: Tensor, byte: Any) -> tuple[bytes, int, int, int]:
    """What `borrow` needs: a handle of the tensor's memory, where and how large the storage is in it, and the device.

    `byte` is a writable buffer of one byte that the other process will have too.
    """
    collect()
    place, storage = tensor.device.index or 0, tensor.untyped_storage()
    streams.current_stream(place).synchronize()  # the other process knows nothing of what is still to be done
    handle, offset = runtime.init().memory_handle(storage.data_ptr())
    byte[0] = 1
    _lent.append((byte, tensor.detach()))
    return handle, offset, storage.nbytes(), place


def borrow(handle: bytes, offset: int, size: int, index: int, byte: Any) -> Tensor:
    """The memory of a storage in another process, as bytes."""
    for own, tensor in _lent:
        if own is byte:  # it has come back to where it was sent from, which cannot open it
            byte[0] = 0
            return tensor.untyped_storage().as_tensor(dtypes.uint8)

    def release() -> None:
        byte[0] = 0

    return wrap(
        runtime.init().open_memory(handle, offset, size, index, release), dispatch_key(dtypes.uint8, device("cuda", index))
    )


def collect() -> None:
    """Let go of the memory that no other process has any longer."""
    _lent[:] = [each for each in _lent if each[0][0]]


def ipc_collect() -> None:
    """Let go of the memory of tensors that were sent to other processes, and that those no longer use."""
    runtime.init()
    collect()
