"""Load the format of PyTorch 0.2 to 1.5: a stream of pickles followed by storages."""

from __future__ import annotations

import inspect
import struct
import sys
import warnings
from collections.abc import Callable
from typing import IO, Any

from ..protocols.pickling import storage_over
from ..storage import TypedStorage, UntypedStorage
from .archive import swap_bytes
from .damage import brief, file_label, reading
from .options import is_skipping_data
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION
from .storages import SavedStorage, as_text, checked_restorer, parse_storage_id

__all__ = ["LegacyLoader", "SourceChangeWarning", "Unpickling", "check_source", "is_tar"]

Unpickling = Callable[[IO[bytes], Callable[[Any], Any] | None], Any]


class SourceChangeWarning(Warning):
    """Warning: the source code of a class has changed since an instance of the class was saved."""


class LegacyLoader:
    """Load a stream of several pickles, followed by the data of their storages.

    Args:
        file: the file, at the start of the stream.
        map_location: as for `load`.
        unpickle: reads one pickle, given the file and the function that resolves persistent ids.
        allows_code: whether the file may name classes together with their source code, which `weights_only` forbids.
    """

    def __init__(self, file: IO[bytes], map_location: Any, unpickle: Unpickling, allows_code: bool) -> None:
        self._file = file
        self._name = file_label(file)
        self._locate = checked_restorer(map_location)
        self._unpickle = unpickle
        self._allows_code = allows_code
        self._storages: dict[str, TypedStorage] = {}
        self._views: dict[str, TypedStorage] = {}
        self._file_size = _file_size(file)
        self._claimed = 0  # total size of the storages so far, in bytes

    def load(self) -> Any:
        if self._read("magic number") != MAGIC_NUMBER:
            raise RuntimeError(f"Invalid magic number; corrupt file? (at the start of {self._name})")
        version = self._read("protocol version")
        if version != PROTOCOL_VERSION:
            raise RuntimeError(f"Invalid protocol version: {version} (in {self._name})")
        self._read("system information")
        result = self._read("pickle", self._persistent_load)
        keys = self._read("list of storages")
        if not is_skipping_data():
            for key in keys:
                with reading(self._name, f"storage {brief(key)}", self._file.tell):
                    self._fill(self._storages[as_text(key)])
        return result

    def _read(self, record: str, persistent_load: Callable[[Any], Any] | None = None) -> Any:
        if not self._allows_code:
            with reading(self._name, record, self._file.tell):
                return self._unpickle(self._file, persistent_load)
        return self._unpickle(self._file, persistent_load)

    def _persistent_load(self, saved_id: Any) -> Any:
        if self._allows_code and saved_id[0] in ("module", b"module"):
            check_source(*saved_id[1:])
            return saved_id[1]
        saved, view = parse_storage_id(saved_id, 6)
        if saved.key not in self._storages:
            self._storages[saved.key] = saved.as_typed(self._locate(self._new(saved), saved.location))
        if view is None:
            return self._storages[saved.key]
        view_key, offset, length = view
        if view_key not in self._views:
            part = slice(offset * saved.dtype.itemsize, (offset + length) * saved.dtype.itemsize)
            self._views[view_key] = saved.as_typed(self._storages[saved.key].untyped()[part])
        return self._views[view_key]

    def _new(self, saved: SavedStorage) -> UntypedStorage:
        self._claimed += saved.nbytes
        if self._claimed > self._file_size:
            raise RuntimeError(
                f"the storages up to {brief(saved.key)} should have {self._claimed} bytes, but the file has {self._file_size}"
            )
        return UntypedStorage(saved.nbytes)

    def _fill(self, storage: TypedStorage) -> None:
        (numel,) = struct.unpack("<q", self._file.read(8))
        nbytes = numel * storage.dtype.itemsize
        if nbytes != storage.nbytes():
            raise RuntimeError(f"storage has wrong byte size: expected {storage.nbytes()} got {nbytes}")
        data: Any = _read(self._file, nbytes)
        if len(data) != nbytes:
            raise RuntimeError(f"unexpected end of file: {len(data)} of {nbytes} bytes")
        if sys.byteorder == "big":
            data = swap_bytes(data, storage.dtype)
        storage.untyped().copy_(storage_over(data))


def _read(file: IO[bytes], nbytes: int) -> bytearray:
    """Read up to `nbytes` bytes: by `readinto`, which copies once less, if the file has it."""
    if not hasattr(file, "readinto"):
        return bytearray(file.read(nbytes))
    data, filled = bytearray(nbytes), 0
    while filled < nbytes:
        count = file.readinto(memoryview(data)[filled:])
        if not count:
            return data[:filled]
        filled += count
    return data


def _file_size(file: IO[bytes]) -> int:
    """Return the size of a file in bytes.  The position is kept."""
    position = file.tell()
    end = file.seek(0, 2)
    file.seek(position)
    return file.tell() if end is None else end


def check_source(container: type, file_name: str | None, source: str | None) -> None:
    """Warn if the source of a class has changed since an instance was saved."""
    if not file_name or not source:
        return
    try:
        current = inspect.getsource(container)
    except (OSError, TypeError):
        warnings.warn(
            f"Couldn't retrieve source code for container of type {container.__name__}. "
            "It won't be checked for correctness upon loading.",
            stacklevel=2,
        )
        return
    if current != source:
        message = f"source code of class '{container.__qualname__}' has changed."
        warnings.warn(message, SourceChangeWarning, stacklevel=2)


def is_tar(file: IO[bytes]) -> bool:
    """Whether a tar archive, the format of PyTorch 0.1, starts at the current position of `file`.  The position is kept."""
    start = file.tell()
    header = file.read(512)
    file.seek(start)
    return header[257:262] == b"ustar"
