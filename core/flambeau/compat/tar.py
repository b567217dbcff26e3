"""Read the tar archives that PyTorch 0.1 saved."""

from __future__ import annotations

import struct
import sys
import tarfile
from collections.abc import Sequence
from typing import IO, Any

from ..engine.values import dtypes
from ..operations.creation.from_shape import empty
from ..protocols.pickling import on_storage, storage_over
from ..serialization.archive import swap_bytes
from ..serialization.damage import file_label, reading
from ..serialization.legacy import Unpickling, check_source
from ..serialization.storages import SavedStorage, checked_restorer
from ..storage import TypedStorage

__all__ = ["TarLoader"]


def _member(tar: tarfile.TarFile, name: str) -> Any:
    """Open a member.  RuntimeError if it is a link, or sparse: a sparse member can claim any number of zeros."""
    member = tar.getmember(name)
    if not member.isreg() or member.issparse():
        raise RuntimeError(f"member {name!r} is not a regular file")
    return tar.extractfile(member)


class TarLoader:
    """Load a tar archive of PyTorch 0.1, whose members are `storages`, `tensors`, and a `pickle` that refers to both.

    Args:
        file: the file, at the start of the archive.
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
        self._storages: dict[int, Any] = {}
        self._objects: dict[int, Any] = {}

    def load(self) -> Any:
        with reading(self._name, "directory", self._file.tell), tarfile.open(fileobj=self._file, mode="r:") as tar:
            members = {name: _member(tar, name) for name in ("storages", "tensors", "pickle")}
        for name, read in (("storages", self._read_storages), ("tensors", self._read_tensors)):
            member: Any = members[name]
            with reading(self._name, f"member {name!r}", member.tell):
                read(member)
        pickled: Any = members["pickle"]
        if self._allows_code:
            return self._unpickle(pickled, self._persistent_load)
        with reading(self._name, "member 'pickle'", pickled.tell):
            return self._unpickle(pickled, self._persistent_load)

    def _read_storages(self, member: IO[bytes]) -> None:
        for _ in range(self._unpickle(member, None)):
            key, location, kind = self._unpickle(member, None)
            (numel,) = struct.unpack("<q", member.read(8))
            saved = SavedStorage(kind, str(key), location, numel)
            self._storages[key] = self._storage(member, saved)
        for key, root_key, offset, numel in self._unpickle(member, None):
            self._storages[key] = self._part(self._storages[root_key], offset, numel)
        self._objects.update(self._storages)

    def _storage(self, member: IO[bytes], saved: SavedStorage) -> Any:
        data: Any = bytearray(member.read(saved.nbytes))
        if len(data) != saved.nbytes:
            raise RuntimeError(f"unexpected end of file: storage {saved.key} has {len(data)} of {saved.nbytes} bytes")
        if sys.byteorder == "big":
            data = swap_bytes(data, saved.dtype)
        return saved.as_typed(self._locate(storage_over(data), saved.location))

    def _part(self, root: Any, offset: int, numel: int) -> Any:
        itemsize = root.dtype.itemsize
        part = root.untyped()[offset * itemsize : (offset + numel) * itemsize]
        return TypedStorage(wrap_storage=part, dtype=root.dtype)

    def _read_tensors(self, member: IO[bytes]) -> None:
        for _ in range(self._unpickle(member, None)):
            key, storage_key, kind = self._unpickle(member, None)
            storage = self._storages.get(storage_key)
            (ndim,) = struct.unpack("<i4x", member.read(8))  # PyTorch 0.1 stored 8 bytes; the upper 4 are unused
            *place, offset = struct.unpack(f"<{2 * ndim + 1}q", member.read(8 * (2 * ndim + 1)))
            if storage is None:
                self._objects[key] = empty(0, dtype=getattr(kind, "dtype", dtypes.float32))
            else:
                self._objects[key] = self._tensor(storage, offset, place[:ndim], place[ndim:])

    def _tensor(self, storage: Any, offset: int, size: Sequence[int], stride: Sequence[int]) -> Any:
        return on_storage(storage.untyped(), storage.dtype, offset, size, stride)

    def _persistent_load(self, saved_id: Any) -> Any:
        if isinstance(saved_id, tuple):
            if not self._allows_code:
                raise RuntimeError(f"the file contains the source of a class, {saved_id[:2]!r}, which weights_only forbids")
            check_source(*saved_id)
            return saved_id[0]
        return self._objects[int(saved_id)]
