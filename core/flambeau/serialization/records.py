"""`torch.PyTorchFileReader` and `torch.PyTorchFileWriter`: read and write single records of PyTorch's zip files."""

from __future__ import annotations

import os
import sys
import zlib
from typing import IO, Any

import flambeau as torch

from .archive import ArchiveReader, ArchiveWriter

__all__ = ["PyTorchFileReader", "PyTorchFileWriter"]


class PyTorchFileReader:
    """Read the records of a file that `torch.save` wrote, without unpickling.

    Args:
        name_or_buffer: the path of a file, or an open file.

    Raises:
        RuntimeError: the file cannot be opened, is not a zip archive, or has no record of the requested name.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"weight": torch.ones(3)}, file)
        >>> reader = torch.PyTorchFileReader(file)
        >>> "data.pkl" in reader.get_all_records(), reader.get_record_size("data/0")
        (True, 12)
    """

    def __init__(self, name_or_buffer: Any) -> None:
        self._file: IO[bytes] = name_or_buffer
        self._owned: IO[bytes] | None = None
        if isinstance(name_or_buffer, (str, os.PathLike)):
            try:
                self._file = self._owned = open(name_or_buffer, "rb")  # noqa: SIM115  # closed with the reader
            except OSError as error:
                raise RuntimeError(
                    f"open file failed because of errno {error.errno} on fopen: {error.strerror}, file path: {name_or_buffer}"
                ) from error
        try:
            self._archive = ArchiveReader(self._file)
        except RuntimeError as error:
            self.__del__()
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {error}") from error

    def __del__(self) -> None:
        owned = getattr(self, "_owned", None)
        if owned is not None:
            owned.close()

    def get_all_records(self) -> list[str]:
        """Return the names of all records."""
        return [path.partition("/")[2] for path in self._archive.paths]

    def has_record(self, name: str) -> bool:
        """Whether the file has a record called `name`."""
        return name in self._archive

    def _check(self, name: str) -> None:
        if name not in self._archive:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")

    def get_record(self, name: str) -> bytes:
        """Return the data of a record."""
        self._check(name)
        return bytes(self._archive.read(name))

    def get_record_size(self, name: str) -> int:
        """Return the size of a record in bytes."""
        self._check(name)
        return self._archive.locate(name).size

    def get_record_offset(self, name: str) -> int:
        """Return the offset of a record's data in the file, in bytes."""
        self._check(name)
        return self._archive.locate(name).offset

    def get_record_header_offset(self, name: str) -> int:
        """Return the offset of a record's header in the file, in bytes."""
        self._check(name)
        return self._archive.header_offset(name)

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> torch.Tensor:
        """Return an empty tensor of the dtype whose storage contains the first `numel` elements of a record."""
        self._check(name)
        data = self._archive.read(name)
        kind = dtype if isinstance(dtype, torch.dtype) else torch.uint8
        if not data:
            return torch.empty(0, dtype=kind)
        return torch.frombuffer(data, dtype=torch.uint8)[: numel * kind.itemsize].view(kind)[:0]

    def serialization_id(self) -> str:
        """Return the digits that identify the contents of the file, or "" if the file does not record them."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""


class PyTorchFileWriter:
    """Write a file of records, in the format of `torch.save`.

    Args:
        name_or_buffer: the path of a file, or an open file.
        compute_crc32: whether to compute the checksums of records.
        storage_alignment: the alignment of records in bytes, at most 32768.

    Raises:
        RuntimeError: the alignment is not supported, a record is written twice, or after `write_end_of_file`.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> writer = torch.PyTorchFileWriter(file)
        >>> writer.write_record("notes.txt", b"three", 5)
        >>> writer.write_end_of_file()
        >>> torch.PyTorchFileReader(file).get_record("notes.txt")
        b'three'
    """

    def __init__(self, name_or_buffer: Any, compute_crc32: bool = True, storage_alignment: int = 64) -> None:
        self._owned: IO[bytes] | None = None
        if isinstance(name_or_buffer, (str, os.PathLike)):
            self._owned = open(name_or_buffer, "wb")  # noqa: SIM115  # closed at the end of the file
        self._archive = ArchiveWriter(self._owned or name_or_buffer, storage_alignment)
        self._checked = compute_crc32
        self._version = 3
        self._written: dict[str, int] = {}  # {record name: checksum of name and data}
        self._ended = False

    def archive_name(self) -> str:
        """Return the name of the folder in the zip file that contains the records."""
        return "archive"

    def get_all_written_records(self) -> set[str]:
        """Return the names of the records written so far."""
        return set(self._written)

    def set_min_version(self, version: int) -> None:
        """Set the minimum format version: readers of earlier versions refuse the file."""
        self._version = max(self._version, version)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write a record: the first `size` bytes of `data`, which is bytes, text or a storage."""
        if self._ended:
            raise RuntimeError("PyTorchFileWriter: cannot write a record after write_end_of_file()")
        if name in self._written:
            raise RuntimeError(f"PyTorchFileWriter: record {name} has already been written")
        if isinstance(data, str):
            data = data.encode()
        elif isinstance(data, (torch.UntypedStorage, torch.TypedStorage)):
            storage = data if isinstance(data, torch.UntypedStorage) else data.untyped()
            data = torch.empty(0, dtype=torch.uint8).set_(storage.cpu()).numpy()
        memory = memoryview(data).cast("B")[:size] if size else b""
        if len(memory) != size:
            raise RuntimeError(f"PyTorchFileWriter: size is {size}, but the data of record {name} has {len(memory)} bytes")
        self._archive.write(name, memory, self._checked)
        self._written[name] = zlib.crc32(memory, zlib.crc32(name.encode()))

    def write_end_of_file(self) -> None:
        """Write the records that readers require, such as `version`, and the directory.  A second call does nothing."""
        if self._ended:
            return
        version = f"{self._version}\n".encode()
        if "version" not in self._written:
            self.write_record("version", version, len(version))
        if "byteorder" not in self._written:
            self.write_record("byteorder", sys.byteorder, len(sys.byteorder))
        identity = self.serialization_id()
        self.write_record(".data/serialization_id", identity, len(identity))
        self._ended = True
        self._archive.end()
        if self._owned is not None:
            self._owned.close()

    def serialization_id(self) -> str:
        """Return 40 digits that are computed from the names and contents of the records written so far."""
        names = zlib.crc32("".join(sorted(self._written)).encode())
        contents = 0
        for checksum in self._written.values():
            contents = (contents * 31 + checksum) % 10**20
        return f"{names:020d}{contents:020d}"
