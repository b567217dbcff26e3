"""PyTorch's file format: a zip archive of uncompressed records, whose data is aligned to 64 bytes for memory mapping."""

from __future__ import annotations

import struct
import zlib
from array import array
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple
from zipfile import ZIP64_LIMIT, ZIP_STORED, ZipFile

from ..engine.values.dtypes import dtype
from ..engine.values.systems import WEBASSEMBLY
from .damage import brief, file_label, is_failure_of_system
from .options import get_crc32_options

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["ArchiveReader", "ArchiveWriter", "Record", "check_sizes", "is_archive", "swap_bytes"]

ALIGNMENT = 64
_MOST_ALIGNMENT = 32768  # the padding is in a field of at most 65535 bytes
MAGIC = b"PK\x03\x04"
_HEADER_SIZE = 30  # bytes of a local file header before its variable part: the name and the extra field
_FLAGS = 0x0808  # two flag bits: names are UTF-8, and the checksum of a record follows its data
_DATE = 0x21  # every record is dated 1 January 1980, so that equal objects give equal files
_MAX = 0xFFFFFFFF  # in a 32-bit field: the number is in the zip64 extension, which has 64-bit fields
_CHUNK = 1 << 19  # bytes per read or write: small enough to stay in the CPU cache until the checksum is computed
_THREAD_SIZE = 1 << 22  # for records of at least this many bytes, a checksum thread is faster
_MOST_EXPANSION = 100  # the size of compressed records relative to the file, if they have more than `_FREE_EXPANSION` bytes
_FREE_EXPANSION = 1 << 30


def is_archive(file: IO[bytes]) -> bool:
    """Whether a zip archive starts at the current position of `file`.  The position is kept."""
    start = file.tell()
    magic = file.read(len(MAGIC))
    file.seek(start)
    return magic == MAGIC


def check_sizes(archive: ZipFile, size: int) -> None:
    """Raise RuntimeError if a file of `size` bytes cannot contain the records, or if they expand too much (a "zip bomb")."""
    records = archive.infolist()
    stored = sum(record.compress_size for record in records)
    if stored > size:
        raise RuntimeError(f"records overlap: their data has {stored} bytes, but the file only {size}")
    for record in records:
        if record.compress_type == ZIP_STORED and record.file_size != record.compress_size and not record.flag_bits & 1:
            raise RuntimeError(
                f"record {brief(record.filename)} should have {record.file_size} bytes, but {record.compress_size} are stored"
            )
    expanded = sum(record.file_size for record in records)
    if expanded > max(_FREE_EXPANSION, _MOST_EXPANSION * size):
        raise RuntimeError(
            f"the records of a file of {size} bytes would expand to {expanded} bytes: unpack it first if you trust it"
        )


class _Checksum:
    """Compute the CRC-32 of data that is added in parts.  For a large record, a thread computes it during reads and writes."""

    def __init__(self, size: int) -> None:
        self._value = 0
        self._pool: ThreadPoolExecutor | None = None
        if size >= _THREAD_SIZE and not WEBASSEMBLY:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> _Checksum:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def add(self, part: memoryview) -> None:
        if self._pool is not None:
            self._pool.submit(self._add, part)
        else:
            self._add(part)

    def _add(self, part: memoryview) -> None:
        self._value = zlib.crc32(part, self._value)

    def value(self) -> int:
        self.__exit__()
        return self._value


class ArchiveWriter:
    """Write records whose data is aligned, by default to 64 bytes, to a file that need not be seekable.

    `zipfile` would copy each record, always compute checksums, and be slower than PyTorch for small records.
    """

    def __init__(self, file: IO[bytes], alignment: int = ALIGNMENT) -> None:
        if not 1 <= alignment <= _MOST_ALIGNMENT:
            raise RuntimeError(f"storage_alignment: expected 1 to {_MOST_ALIGNMENT} bytes, but got {alignment}")
        self._file = file
        self._alignment = alignment
        self._offset = 0
        self._directory: list[bytes] = []

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.write("version", b"3\n")
            self.end()

    def write(self, name: str, data: Any, checked: bool = True) -> None:
        """Write a record.  With `checked=False` its stored checksum is 0, and readers do not verify the record."""
        memory = memoryview(data).cast("B") if len(data) else memoryview(b"")
        path, size, start = f"archive/{name}".encode(), len(memory), self._offset
        large = size > ZIP64_LIMIT
        extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
        padding = -(start + _HEADER_SIZE + len(path) + len(extra) + 4) % self._alignment
        extra += b"FB" + struct.pack("<H", padding) + b"Z" * padding
        fields = (_version(large), _FLAGS, ZIP_STORED, 0, _DATE)
        sizes = (_MAX, _MAX) if large else (size, size)
        header = struct.pack("<4s5H3L2H", MAGIC, *fields, 0, *sizes, len(path), len(extra)) + path + extra
        checksum = self._write_data(header, memory, checked and get_crc32_options())
        self._write(struct.pack("<4sLQQ" if large else "<4sLLL", b"PK\x07\x08", checksum, size, size))
        more = (size, size) if large else ()
        if start > ZIP64_LIMIT:
            more, start = (*more, start), _MAX
        zip64 = struct.pack(f"<HH{len(more)}Q", 1, 8 * len(more), *more) if more else b""
        made = (_version(bool(more)), *fields[1:])
        lengths = (len(path), len(zip64), 0, 0, 0, 0o644 << 16)
        entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 3 << 8 | 20, *made, checksum, *sizes, *lengths, start)
        self._directory.append(entry + path + zip64)

    def _write_data(self, header: bytes, data: memoryview, checked: bool) -> int:
        """Write a header and the data after it.  Return the checksum of the data, or 0 if `checked` is False."""
        if len(data) < _CHUNK:
            self._write(header + data)
            return zlib.crc32(data) if checked else 0
        self._write(header)
        with _Checksum(len(data) if checked else 0) as checksum:
            for start in range(0, len(data), _CHUNK):
                part = data[start : start + _CHUNK]
                if checked:
                    checksum.add(part)
                self._write(part)
            return checksum.value()

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._offset += len(data)

    def end(self) -> None:
        """Write the central directory of the zip file, and the end record with its position."""
        start, count = self._offset, len(self._directory)
        self._write(b"".join(self._directory))
        size, end = self._offset - start, self._offset
        if max(start, size) > ZIP64_LIMIT or count >= 0xFFFF:
            self._write(struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start))
            self._write(struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1))
            count, size, start = 0xFFFF, _MAX, _MAX
        self._write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, size, start, 0))


def _version(zip64: bool) -> int:
    """Return the version of the zip format that a reader must support: 45 for zip64, else 20."""
    return 45 if zip64 else 20


class Record(NamedTuple):
    """The position of a record's data in a file: `size` bytes from byte `offset`."""

    name: str
    offset: int
    size: int
    checksum: int


class ArchiveReader:
    """Read the records of an archive, and verify their checksums.

    A checksum of 0 is not verified, because PyTorch can save without checksums.  `set_crc32_options(False)` disables the check.

    Raises:
        RuntimeError: the file is not a zip archive, or its directory is damaged.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.name: str = file_label(file)
        try:
            archive = ZipFile(file)
            records = archive.infolist()
            self._end = file.seek(0, 2)
            check_sizes(archive, self._end)
        except Exception as error:  # `zipfile` raises many types of errors for a damaged directory
            if is_failure_of_system(error):
                raise
            raise RuntimeError(f"failed reading zip archive: {error} (directory of {self.name})") from error
        self._records = {record.filename.partition("/")[2]: record for record in records}
        self.paths: Final = [record.filename for record in records]
        self._directory: int = archive.start_dir
        self._readinto = getattr(file, "readinto", None)

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def header_offset(self, name: str) -> int:
        """Return the offset of a record's header in the file, in bytes."""
        return self._records[name].header_offset

    def locate(self, name: str) -> Record:
        """Find the data of a record in the file.

        Raises:
            RuntimeError: the record is missing, compressed or encrypted, its header is damaged, or the file ends within it.
        """
        entry = self._records.get(name)
        if entry is None:
            raise RuntimeError(f"file not found in archive: {name!r} (in {self.name})")
        start, size = entry.header_offset, entry.file_size
        if entry.compress_type != ZIP_STORED or entry.flag_bits & 1:
            raise RuntimeError(f"record {name!r} of {self.name} is compressed or encrypted")
        header = b""
        if 0 <= start <= self._end:
            self._file.seek(start)
            header = self._file.read(_HEADER_SIZE)
        if len(header) != _HEADER_SIZE or not header.startswith(MAGIC):
            raise RuntimeError(f"record {name!r} of {self.name} is damaged: it has no header at byte {start}")
        name_size, extra_size = struct.unpack("<HH", header[26:30])
        offset = start + _HEADER_SIZE + name_size + extra_size
        if offset + size > self._end:
            raise RuntimeError(f"unexpected end of file in record {name!r} of {self.name}: no {size} bytes from byte {offset}")
        return Record(name, offset, size, entry.CRC)

    def read(self, name: str) -> bytearray:
        """Return the data of a record.  RuntimeError if the record is missing, compressed, incomplete or damaged."""
        record = self.locate(name)
        data = bytearray(record.size)
        self.read_into(record, memoryview(data))
        return data

    def read_into(self, record: Record, memory: memoryview) -> None:
        """Read a record into `memory`, of the record's size.  RuntimeError if it is incomplete or its checksum is wrong."""
        expected = record.checksum if get_crc32_options() else 0
        self._file.seek(record.offset)
        if record.size <= _CHUNK:
            self._fill(memory, record, 0)
            found = zlib.crc32(memory) if expected else 0
        else:
            with _Checksum(record.size if expected else 0) as checksum:
                for start in range(0, record.size, _CHUNK):
                    part = memory[start : start + _CHUNK]
                    self._fill(part, record, start)
                    if expected:
                        checksum.add(part)
                found = checksum.value()
        if found != expected:
            place = f"its {record.size} bytes from byte {record.offset} on"
            raise RuntimeError(
                f"record {record.name!r} of {self.name} is damaged: the checksum of {place} is {found:08x}, but should be "
                f"{expected:08x}; after `set_crc32_options(False)` it is not checked"
            )

    def _fill(self, memory: memoryview, record: Record, start: int) -> None:
        """Fill `memory` from the current position of the file; `start` is the offset within the record, for error messages."""
        filled = 0
        while filled < len(memory):
            if self._readinto is not None:
                count = self._readinto(memory[filled:])
            else:
                data = self._file.read(len(memory) - filled)
                count = len(data)
                memory[filled : filled + count] = data
            if not count:
                offset = record.offset + start
                raise RuntimeError(f"unexpected end of file in record {record.name!r} of {self.name}, after byte {offset}")
            filled += count

    def forget_checksums(self, writable: IO[bytes]) -> None:
        """Set the checksums in the directory of a file to 0 (unknown), before its records are changed."""
        writable.seek(self._directory)
        for _ in self._records:
            entry = writable.tell()
            header = writable.read(46)
            if header[:4] != b"PK\x01\x02":
                return
            writable.seek(entry + 16)
            writable.write(bytes(4))
            writable.seek(entry + 46 + sum(struct.unpack("<3H", header[28:34])))


def swap_bytes(data: bytearray | memoryview | bytes, dtype: dtype) -> bytearray:
    """Return a copy of the elements in the opposite byte order."""
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if size == 1:
        return bytearray(data)
    numbers = array({2: "H", 4: "I", 8: "Q"}[size], bytes(data))
    numbers.byteswap()
    return bytearray(numbers.tobytes())
