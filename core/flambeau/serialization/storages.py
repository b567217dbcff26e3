"""Code shared by the loaders of all formats: parse the ids of storages in pickles, and create the storages."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from ..engine.devices.devices import device, dispatch_key
from ..engine.tensors.tensor import wrap
from ..engine.values import dtypes
from ..protocols.pickling import storage_over
from ..storage import TypedStorage, UntypedStorage
from .damage import CallerError, brief
from .locations import Restorer, UnknownLocationError, restorer
from .names import StorageType

__all__ = ["SavedStorage", "as_text", "checked_restorer", "filled_storage", "parse_storage_id"]

_CPU = device("cpu")


class SavedStorage:
    """The parsed persistent id of a storage in a pickle: dtype, key, location and size in bytes.

    Raises:
        pickle.UnpicklingError: the id does not describe a storage.
    """

    key: str
    location: str

    def __init__(self, kind: Any, key: Any, location: Any, numel: Any) -> None:
        if not (isinstance(kind, StorageType) or kind is UntypedStorage):
            raise pickle.UnpicklingError(f"expected a storage class, but got {type(kind).__name__} {brief(kind)}")
        if type(key) is not str or type(location) is not str or type(numel) is not int or numel < 0:
            raise pickle.UnpicklingError(f"expected key, location and size of a storage, but got {brief((key, location, numel))}")
        self.dtype: dtypes.dtype = kind.dtype if isinstance(kind, StorageType) else dtypes.uint8
        self.key, self.location = key, location
        self.nbytes: int = numel * self.dtype.itemsize

    def as_typed(self, storage: UntypedStorage) -> TypedStorage:
        """Return a typed storage that has the saved dtype and shares the memory of `storage`."""
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)


def as_text(value: Any) -> Any:
    """Decode bytes: strings that Python 2 wrote are loaded as bytes with `encoding="bytes"`."""
    return value.decode("ascii") if isinstance(value, bytes) else value


def parse_storage_id(saved_id: Any, length: int) -> tuple[SavedStorage, Any]:
    """Parse the persistent id of a storage, a tuple of `length` items.

    Return the parsed id and its sixth item.  Only the legacy format has a sixth item; in other formats it is None.  Strings in
    the id may be bytes, because Python 2 wrote them in this way.

    Raises:
        pickle.UnpicklingError: `saved_id` is not the id of a storage.
    """
    if not isinstance(saved_id, tuple | int):
        raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(saved_id)}")
    if not isinstance(saved_id, tuple) or not saved_id:
        raise pickle.UnpicklingError(f"Unknown saved id: {brief(saved_id)}")
    tag, *parts = map(as_text, saved_id)
    if tag != "storage":
        raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(tag)}: {brief(tag)}")
    if len(saved_id) != length:
        raise pickle.UnpicklingError(f"expected a storage id with {length} parts, but got {brief(saved_id)}")
    return SavedStorage(*parts[:4]), parts[4] if length > 5 else None


def checked_restorer(map_location: Any) -> Restorer:
    """Return `locations.restorer(map_location)` with its errors translated.

    An unknown location raises RuntimeError; errors of the caller's function raise CallerError.
    """
    restore = restorer(map_location)

    def checked_restore(storage: Any, location: str) -> Any:
        try:
            return restore(storage, location)
        except UnknownLocationError as error:
            unknown = error
        except Exception as error:
            raise CallerError(error) from error
        raise RuntimeError(str(unknown))

    return checked_restore


def filled_storage(nbytes: int, fill: Callable[[memoryview], object]) -> UntypedStorage:
    """Return a new storage of `nbytes` bytes in host memory, after calling `fill` with its memory."""
    key = dispatch_key(dtypes.uint8, _CPU)
    if not key.backend.mutable:
        memory = bytearray(nbytes)
        fill(memoryview(memory))
        return storage_over(memory)
    array = key.backend.namespace_on(key.device.index).empty(nbytes, dtype=key.raw_dtype)
    fill(memoryview(key.backend.to_host(array)))
    return UntypedStorage._on_memory(wrap(array, key))
