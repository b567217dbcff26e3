"""Read and write `.safetensors` files: the length of a JSON header, the header, and the data of all tensors."""

from __future__ import annotations

import json
import math
import mmap as mmaps
import os
import struct
import sys
from collections.abc import Mapping
from typing import IO, Any

from ..backend import contiguous_strides
from ..engine.devices import devices
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..protocols.pickling import on_storage, storage_over
from .archive import swap_bytes
from .damage import check_shape, file_label, reading
from .replacing import atomic_write

__all__ = ["DTYPES", "load_safetensors", "read_header", "save_safetensors"]

DTYPES = {
    "F64": dtypes.float64,
    "F32": dtypes.float32,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "F8_E4M3": dtypes.float8_e4m3fn,
    "F8_E5M2": dtypes.float8_e5m2,
    "F8_E8M0": dtypes.float8_e8m0fnu,
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


_LEAST_MAPPED = 1 << 16  # bytes; smaller tensors are read, because processes may have only 65,530 mappings


def load_safetensors(path: str | os.PathLike[str], map_location: Any = None, mmap: bool = False) -> dict[str, Tensor]:
    """Return the tensors of a `.safetensors` file by name, on the device `map_location` (by default the CPU).

    With `mmap`, large tensors are mapped into memory one by one: their data is read on use, and unmapped with the tensor.

    Raises:
        RuntimeError: `map_location` is a dict or function, or the file is damaged.
    """
    if map_location is not None and not isinstance(map_location, str | devices.device):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device string or torch.device instead."
        )
    with open(path, "rb") as file:
        entries, start = read_header(file)
        _check_sizes(file, entries, start)
        tensors = {}
        for name, entry in entries.items():
            with reading(file_label(path), f"tensor {name!r}", file.tell):
                tensors[name] = _read_tensor(file, start, entry, mmap)
    return {name: tensor.to(map_location or "cpu") for name, tensor in tensors.items()}


def save_safetensors(tensors: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Write tensors to a `.safetensors` file, those with larger dtypes first, so that all are aligned.

    Raises:
        TypeError: the format does not support the dtype of a tensor.
    """
    codes = {dtype: code for code, dtype in DTYPES.items()}
    entries, position = {}, 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
        if tensor.dtype not in codes:
            raise TypeError(f"safetensors files do not support {tensor.dtype}, the dtype of {name!r}: convert the tensor first")
        end = position + tensor.numel() * tensor.dtype.itemsize
        entries[name] = {"dtype": codes[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [position, end]}
        position = end
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    header += b" " * (-len(header) % 8)
    with atomic_write(path) as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for name in entries:
            data: Any = tensors[name].detach().cpu().contiguous().clone().untyped_storage().tobytes()
            file.write(swap_bytes(data, tensors[name].dtype) if sys.byteorder == "big" else data)


def read_header(file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """Return ({tensor name: header entry}, offset of the data in bytes).

    Raises:
        RuntimeError: the header is incomplete.
        pickle.UnpicklingError: the header is not a JSON object.
    """
    with reading(file_label(file), "header", file.tell):
        (length,) = struct.unpack("<Q", _read(file, 8))
        header = dict(json.loads(_read(file, length)))
        header.pop("__metadata__", None)
        return header, file.tell()


def _check_sizes(file: IO[bytes], entries: dict[str, Any], start: int) -> None:
    """Raise RuntimeError if the tensors have more bytes than the file, which they can only have if they overlap."""
    with reading(file_label(file), "header", file.tell):
        claimed = sum(max(0, int(end) - int(begin)) for begin, end in (entry["data_offsets"] for entry in entries.values()))
        size = os.fstat(file.fileno()).st_size - start
        if claimed > size:
            raise RuntimeError(f"unexpected end of safetensors file: the tensors have {claimed} bytes, the file {size}")


def _read_tensor(file: IO[bytes], start: int, entry: dict[str, Any], mmap: bool) -> Tensor:
    dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
    check_shape(shape)
    begin, end = entry["data_offsets"]
    nbytes = end - begin
    if not 0 <= begin <= end or nbytes != math.prod(shape) * dtype.itemsize:
        raise RuntimeError(f"bytes {begin} to {end} do not match dtype {entry['dtype']} and shape {shape}")
    data: Any
    if mmap and nbytes >= _LEAST_MAPPED and (start + begin) % dtype.itemsize == 0:
        _check_end(file, start + begin, nbytes)
        data = _map(file, start + begin, nbytes)
    else:
        file.seek(start + begin)
        data = _read(file, nbytes)
    if sys.byteorder == "big":
        data = swap_bytes(data, dtype)
    return on_storage(storage_over(data), dtype, 0, shape, contiguous_strides(shape))


def _map(file: IO[bytes], position: int, length: int) -> memoryview:
    """Map a part of a file into memory.  Writes do not change the file."""
    skipped = position % mmaps.ALLOCATIONGRANULARITY
    mapped = mmaps.mmap(file.fileno(), skipped + length, access=mmaps.ACCESS_COPY, offset=position - skipped)
    return memoryview(mapped)[skipped:]


def _read(file: IO[bytes], length: int) -> bytearray:
    position = file.tell()
    _check_end(file, position, length)
    file.seek(position)
    data = bytearray(length)
    if file.readinto(data) != length:  # type: ignore[attr-defined]
        raise RuntimeError(f"the file became shorter while it was read: no {length} bytes from byte {position}")
    return data


def _check_end(file: IO[bytes], position: int, length: int) -> None:
    size = file.seek(0, os.SEEK_END)
    if length > size - position:
        raise RuntimeError(f"unexpected end of safetensors file: no {length} bytes from byte {position}, size {size}")
