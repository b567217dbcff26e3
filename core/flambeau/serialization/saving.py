"""`torch.save`: write an object as a pickle, and its storages separately."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from ..engine.values import dtypes
from ..storage import TypedStorage, UntypedStorage
from .archive import ArchiveWriter
from .locations import location_tag
from .names import storage_type
from .options import garbage_collection_paused, is_skipping_data, save_settings
from .pickles import pickler_class, standard_pickler
from .replacing import atomic_write

__all__ = ["DEFAULT_PROTOCOL", "MAGIC_NUMBER", "PROTOCOL_VERSION", "save"]

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C  # the start of a file in the legacy format
PROTOCOL_VERSION = 1001
DEFAULT_PROTOCOL = 2  # the pickle protocol


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file that `torch.load` of flambeau and of PyTorch can read.

    Tensors that share memory share it again after loading.  The whole storage of a tensor is saved, even if the
    tensor is a view of a part of it.  An existing file is replaced only after the new one has reached the disk.

    Args:
        obj: tensors, containers of them, modules, or anything else that can be pickled.
        f: a path, or an object with a `write` method.
        pickle_module: the module with the `Pickler` class.
        pickle_protocol: the protocol of the pickle; PyTorch's `load(weights_only=True)` supports 2.
        _use_new_zipfile_serialization: False for the legacy format of PyTorch before 1.6.
        _disable_byteorder_record: True to omit the record of the byte order.

    Raises:
        AttributeError: `f` is neither a path nor has a `write` method.
        RuntimeError: the folder of `f` does not exist, or one storage is used with two dtypes.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file)
    >>> torch.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if is_skipping_data() and not _use_new_zipfile_serialization:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    base = standard_pickler() if pickle_module is pickle else pickler_class(pickle_module.Pickler)
    with _opened(f) as file, garbage_collection_paused():
        if _use_new_zipfile_serialization:
            with ArchiveWriter(file, save_settings.storage_alignment) as archive:
                _save_archive(obj, archive, base, pickle_protocol, not _disable_byteorder_record)
        else:
            _save_legacy(obj, file, base, pickle_protocol)


def _save_archive(obj: object, archive: ArchiveWriter, base: type, protocol: int, byteorder: bool) -> None:
    storages = _Storages()
    pickled = io.BytesIO()
    base(pickled, protocol, storages.persistent_id).dump(obj)
    archive.write("data.pkl", pickled.getvalue())
    if byteorder:
        archive.write("byteorder", sys.byteorder.encode())
    for key, (storage, _) in storages.by_key.items():
        if is_skipping_data():  # no checksum: the user fills in the data later
            archive.write(f"data/{key}", bytes(storage.nbytes()), checked=False)
        else:
            archive.write(f"data/{key}", _storage_bytes(storage))


def _save_legacy(obj: object, file: IO[bytes], base: type, protocol: int) -> None:
    """Write several pickles, followed by the storages, each preceded by the number of its elements."""
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 8},
    }
    for header in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        pickle.dump(header, file, protocol=protocol)
    storages = _Storages(legacy=True)
    base(file, protocol, storages.persistent_id).dump(obj)
    pickle.dump(list(storages.by_key), file, protocol=protocol)
    for storage, itemsize in storages.by_key.values():
        file.write(struct.pack("<q", storage.nbytes() // itemsize))
        file.write(_storage_bytes(storage))


class _Storages:
    """Collect the storages of the pickled object, each once, and create their persistent ids."""

    def __init__(self, legacy: bool = False) -> None:
        self.by_key: dict[str, tuple[UntypedStorage, int]] = {}  # {key: (storage, bytes per element)}
        self._seen: dict[Any, tuple[str, dtypes.dtype]] = {}
        self._legacy = legacy

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        if isinstance(obj, TypedStorage):
            storage, dtype, numel = obj.untyped(), obj.dtype, obj.size()
            kind: Any = storage_type(dtype)
        elif isinstance(obj, UntypedStorage):
            storage, dtype, numel = obj, dtypes.uint8, obj.nbytes()
            kind = UntypedStorage
        else:
            return None
        saved_id = ("storage", kind, self._key(storage, dtype), location_tag(storage), numel)
        return (*saved_id, None) if self._legacy else saved_id

    def _key(self, storage: UntypedStorage, dtype: dtypes.dtype) -> str:
        address = storage.data_ptr()
        memory = (storage.device, address or id(storage))
        key, seen_dtype = self._seen.setdefault(memory, (str(len(self._seen)), dtype))
        if seen_dtype is not dtype and address:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        self.by_key.setdefault(key, (storage, dtype.itemsize))
        return key


@contextmanager
def _opened(f: Any) -> Iterator[IO[bytes]]:
    if isinstance(f, str | os.PathLike):
        with atomic_write(f) as file:
            yield file
        return
    yield f
    if hasattr(f, "flush"):
        f.flush()


def _storage_bytes(storage: UntypedStorage) -> Any:
    """Return the bytes of a storage: a view of its memory if possible, else a copy."""
    memory = storage._bytes
    if memory.device.type == "cpu" and memory._key.backend.mutable:
        return memoryview(memory.numpy())  # type: ignore[arg-type]  # NumPy declares the buffer protocol only for Python 3.12
    return storage.tobytes()
