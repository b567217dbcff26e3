"""Read and write NumPy's `.npz` files: zip archives of `.npy` arrays.  Object arrays, which contain pickles, are refused."""

from __future__ import annotations

import ast
import math
import os
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from ..backend import contiguous_strides
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..protocols.pickling import on_storage, storage_over
from .archive import check_sizes, swap_bytes
from .damage import brief, check_shape, file_label, reading
from .replacing import atomic_write

__all__ = ["ArrayHeader", "headers", "load_npz", "save_npz"]

_MAGIC = b"\x93NUMPY"
_CODES = {
    dtypes.float64: "f8", dtypes.float32: "f4", dtypes.float16: "f2", dtypes.complex64: "c8", dtypes.complex128: "c16",
    dtypes.int64: "i8", dtypes.int32: "i4", dtypes.int16: "i2", dtypes.int8: "i1", dtypes.uint64: "u8", dtypes.uint32: "u4",
    dtypes.uint16: "u2", dtypes.uint8: "u1", dtypes.bool_: "b1",
}  # fmt: skip
_DTYPES = {code: dtype for dtype, code in _CODES.items()}
_MOST_HEADER = 10_000  # bytes, as in NumPy: a longer expression could crash Python's parser
_NATIVE = "<" if sys.byteorder == "little" else ">"


@dataclass(frozen=True)
class ArrayHeader:
    """The parsed header of an `.npy` array.  `swapped` is True if its byte order is not that of this machine."""

    dtype: dtypes.dtype
    shape: tuple[int, ...]
    swapped: bool
    column_major: bool


def headers(file: IO[bytes]) -> Iterator[tuple[str, ArrayHeader]]:
    """Yield (name, header) of each array in a file, without reading data.

    Raises:
        pickle.UnpicklingError, RuntimeError: a header is damaged, or flambeau does not have the dtype of an array.
    """
    return _read_each(file, _read_header)


def load_npz(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the arrays of an `.npz` file as tensors, by name.

    Raises:
        pickle.UnpicklingError, RuntimeError: the file is damaged, or flambeau does not have the dtype of an array.
    """
    with open(path, "rb") as file:
        return dict(_read_each(file, _read_array))


def _read_each(file: IO[bytes], read: Callable[[IO[bytes]], Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name of each array in a file and the result of `read` for it."""
    name = file_label(file)
    with reading(name, "directory", file.tell):
        archive = zipfile.ZipFile(file)
        check_sizes(archive, file.seek(0, 2))
    with archive:
        for record in archive.namelist():
            with reading(name, f"array {record!r}", file.tell), archive.open(record) as member:
                result = read(member)
            yield record.removesuffix(".npy"), result


def save_npz(tensors: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Write tensors to an `.npz` file, which `numpy.load` can read.

    Raises:
        TypeError: NumPy does not have the dtype of a tensor, such as bfloat16.
    """
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, tensor in tensors.items():
            code = _CODES.get(tensor.dtype)
            if code is None:
                raise TypeError(f"NumPy has no {tensor.dtype}, the dtype of {name!r}; convert it first, or use another format")
            order = "|" if tensor.dtype.itemsize == 1 else _NATIVE
            text = repr({"descr": order + code, "fortran_order": False, "shape": tuple(tensor.shape)}).encode()
            text += b" " * (-(len(text) + 11) % 64) + b"\n"
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                member.write(_MAGIC + b"\1\0" + struct.pack("<H", len(text)) + text)
                member.write(tensor.detach().cpu().contiguous().clone().untyped_storage().tobytes())


def _read_header(member: IO[bytes]) -> ArrayHeader:
    start = member.read(8)
    if not start.startswith(_MAGIC):
        raise RuntimeError("not a NumPy array: the magic bytes of the .npy format are missing")
    large = start[6] > 1
    (length,) = struct.unpack("<L" if large else "<H", member.read(4 if large else 2))
    if length > _MOST_HEADER:
        raise RuntimeError(f"the header of the array has {length} bytes; at most {_MOST_HEADER} are supported")
    facts: Any = ast.literal_eval(member.read(length).decode("latin1"))
    descr, shape = facts["descr"], facts["shape"]
    if not isinstance(descr, str) or descr[1:] not in _DTYPES:
        raise RuntimeError(f"flambeau has no dtype for NumPy's {brief(descr)}")
    check_shape(shape)
    return ArrayHeader(_DTYPES[descr[1:]], tuple(shape), descr[0] not in ("|", "=", _NATIVE), bool(facts["fortran_order"]))


def _read_array(member: IO[bytes]) -> Tensor:
    header = _read_header(member)
    nbytes = math.prod(header.shape) * header.dtype.itemsize
    data = bytearray(member.read(nbytes))
    if len(data) != nbytes:
        raise RuntimeError(f"unexpected end of the array: it has {len(data)} of {nbytes} bytes")
    if header.swapped:
        data = swap_bytes(data, header.dtype)
    strides = contiguous_strides(header.shape)
    if header.column_major:
        strides = contiguous_strides(header.shape[::-1])[::-1]
    return on_storage(storage_over(data), header.dtype, 0, header.shape, strides)
