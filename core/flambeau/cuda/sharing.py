"""Sharing device memory with other processes by CUDA IPC handles.

The owning process keeps shared memory alive until all receiving processes have released it.  Each transfer has a flag: one byte
in memory that both processes share.  The owner sets it to 1, the receiver clears it on release.
"""

from __future__ import annotations

from typing import Any

from ..engine.devices import cuda as runtime
from ..engine.devices.devices import device, dispatch_key
from ..engine.tensors.tensor import Tensor, wrap
from ..engine.values import dtypes
from . import streams

__all__ = ["collect", "export_memory", "import_memory", "ipc_collect"]

_exported: list[tuple[Any, Tensor]] = []  # per transfer: (byte that the receiver sets at the end, tensor with the memory)


def export_memory(tensor: Tensor, byte: Any) -> tuple[bytes, int, int, int]:
    """Return the arguments of `import_memory`: the IPC handle, the storage's offset and size in bytes, and the device index.

    `byte` is the flag of the transfer: a writable buffer of one byte shared with the receiving process.
    """
    collect()
    place, storage = tensor.device.index or 0, tensor.untyped_storage()
    streams.current_stream(place).synchronize()  # the receiving process cannot wait for work queued in this process
    handle, offset = runtime.init().memory_handle(storage.data_ptr())
    byte[0] = 1
    _exported.append((byte, tensor.detach()))
    return handle, offset, storage.nbytes(), place


def import_memory(handle: bytes, offset: int, size: int, index: int, byte: Any) -> Tensor:
    """Open the memory of another process's storage and return it as a uint8 tensor."""
    for own, tensor in _exported:
        if own is byte:  # this process is the owner: CUDA cannot open an IPC handle in the process that exported it
            byte[0] = 0
            return tensor.untyped_storage().as_tensor(dtypes.uint8)

    def release() -> None:
        byte[0] = 0

    return wrap(
        runtime.init().open_memory(handle, offset, size, index, release), dispatch_key(dtypes.uint8, device("cuda", index))
    )


def collect() -> None:
    """Drop references to shared memory that the receiving processes have released."""
    _exported[:] = [loan for loan in _exported if loan[0][0]]


def ipc_collect() -> None:
    """Free memory of tensors that were sent to other processes and are no longer used there."""
    runtime.init()
    collect()
