"""Reading of `.safetensors` files, which consist of a length, a JSON header of that length, and the bytes of all tensors."""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import IO, Any

from ..backend import contiguous_strides
from ..protocols.pickling import on_storage, storage_over
from ..runtime import devices
from ..tensors.tensor import Tensor
from ..values import dtypes
from .archive import swap_bytes

__all__ = ["load_safetensors"]

DTYPES = {
    "F64": dtypes.float64,
    "F32": dtypes.float32,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "I64": dtypes.int64,
    "I32": dtypes.int32,
    "I16": dtypes.int16,
    "I8": dtypes.int8,
    "U64": dtypes.uint64,
    "U32": dtypes.uint32,
    "U16": dtypes.uint16,
    "U8": dtypes.uint8,
    "BOOL": dtypes.bool_,
    "C64": dtypes.complex64,
}


def load_safetensors(path: str | os.PathLike[str], map_location: Any = None) -> dict[str, Tensor]:
    """Return the tensors of a `.safetensors` file by name, on the device `map_location` (by default the CPU).

    Raises:
        RuntimeError: `map_location` is not a device; or the file is damaged.
    """
    if map_location is not None and not isinstance(map_location, str | devices.device):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device string or torch.device instead."
        )
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", _read(file, 8))
        header = json.loads(_read(file, length))
        header.pop("__metadata__", None)
        start = file.tell()
        tensors = {name: _read_tensor(file, start, entry) for name, entry in header.items()}
    return {name: tensor.to(map_location or "cpu") for name, tensor in tensors.items()}


def _read_tensor(file: IO[bytes], start: int, entry: dict[str, Any]) -> Tensor:
    dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
    begin, end = entry["data_offsets"]
    file.seek(start + begin)
    data = bytearray(_read(file, end - begin))
    if sys.byteorder == "big":
        data = swap_bytes(data, dtype)
    return on_storage(storage_over(data), dtype, 0, shape, contiguous_strides(shape))


def _read(file: IO[bytes], length: int) -> bytes:
    data = file.read(length) if length >= 0 else b""
    if len(data) != length:
        raise RuntimeError("unexpected end of safetensors file")
    return data
