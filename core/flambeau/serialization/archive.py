"""PyTorch's file format: a zip archive of uncompressed records, aligned so that they can be memory-mapped."""

from __future__ import annotations

import mmap
import struct
from array import array
from types import TracebackType
from typing import IO, Any
from zipfile import ZIP64_LIMIT, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ..values.dtypes import dtype

__all__ = ["ArchiveReader", "ArchiveWriter", "is_archive", "swap_bytes"]

ALIGNMENT = 64
MAGIC = b"PK\x03\x04"
_HEADER_SIZE = 30  # the size of a local header before the name and the extra field
_ZIP64_SIZE = 20  # the number of bytes that zipfile adds to the extra field of a large record


def is_archive(file: IO[bytes]) -> bool:
    """Whether an archive starts at the position of `file`, which does not change."""
    start = file.tell()
    magic = file.read(len(MAGIC))
    file.seek(start)
    return magic == MAGIC


class ArchiveWriter:
    """Writes records whose data is aligned to 64 bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = ZipFile(file, "w", ZIP_STORED)

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.write("version", b"3\n")
        self._zip.close()

    def write(self, name: str, data: Any) -> None:
        record = ZipInfo(f"archive/{name}", date_time=(1980, 1, 1, 0, 0, 0))
        record.external_attr = 0o644 << 16
        record.extra = self._padding(record, memoryview(data).nbytes)
        self._zip.writestr(record, data)
        record.extra = b""  # the central directory does not need the padding

    def _padding(self, record: ZipInfo, size: int) -> bytes:
        """An extra field, with PyTorch's id for padding, that moves the data to the next aligned position."""
        file: Any = self._zip.fp
        zip64 = _ZIP64_SIZE if size * 1.05 > ZIP64_LIMIT else 0
        data_start = file.tell() + _HEADER_SIZE + len(record.filename.encode()) + zip64 + 4
        length: int = -data_start % ALIGNMENT
        return b"FB" + struct.pack("<H", length) + b"Z" * length


class ArchiveReader:
    """Reads the records of an archive.  Checksums are not verified, as PyTorch can be told not to write them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        try:
            records = ZipFile(file).infolist()
        except BadZipFile as error:
            raise RuntimeError(f"failed reading zip archive: {error}") from error
        self._records = {record.filename.partition("/")[2]: record for record in records}

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def read(self, name: str) -> bytearray:
        """The data of a record, in writable memory.

        Raises:
            RuntimeError: there is no such record, or it is incomplete.
        """
        offset, size = self._locate(name)
        self._file.seek(offset)
        data = bytearray(self._file.read(size))
        if len(data) != size:
            raise RuntimeError(f"unexpected end of file in record {name!r} of the archive")
        return data

    def map(self, name: str, memory: mmap.mmap) -> memoryview:
        """The data of a record as a part of the memory-mapped file."""
        offset, size = self._locate(name)
        return memoryview(memory)[offset : offset + size]

    def _locate(self, name: str) -> tuple[int, int]:
        record = self._records.get(name)
        if record is None:
            raise RuntimeError(f"file not found in archive: {name!r}")
        if record.compress_type != ZIP_STORED:
            raise RuntimeError(f"record {name!r} of the archive is compressed")
        self._file.seek(record.header_offset)
        header = self._file.read(_HEADER_SIZE)
        name_size, extra_size = struct.unpack("<HH", header[26:30])
        return record.header_offset + _HEADER_SIZE + name_size + extra_size, record.file_size


def swap_bytes(data: bytearray | memoryview | bytes, dtype: dtype) -> bytearray:
    """The same elements in the opposite byte order, in writable memory."""
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if size == 1:
        return bytearray(data)
    numbers = array({2: "H", 4: "I", 8: "Q"}[size], bytes(data))
    numbers.byteswap()
    return bytearray(numbers.tobytes())
