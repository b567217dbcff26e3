"""Private functions and classes of PyTorch for storages: weak references, and functions that pickles call."""

from __future__ import annotations

import weakref
from io import BytesIO
from typing import Any

from ..backend import is_mutable
from ..engine.tensors.storage import memory_root
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..protocols.pickling import Reduced
from ..serialization import load, save
from ..storage import TypedStorage, UntypedStorage

__all__ = ["StorageWeakRef", "reduce_storage"]


def _load_from_bytes(b: bytes) -> Any:
    """Load the storage saved by `torch.save` in `b`: PyTorch pickles a storage as a call of this function."""
    return load(BytesIO(b), weights_only=True)


def reduce_storage(storage: TypedStorage | UntypedStorage) -> Reduced:
    """Return (function, args) that rebuild a storage, for pickles that PyTorch can read."""
    if not isinstance(storage, TypedStorage):  # PyTorch cannot read it from a file in the old format, which is smaller
        return TypedStorage.untyped, (TypedStorage(wrap_storage=storage, dtype=dtypes.uint8),)
    file = BytesIO()
    save(storage, file, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (file.getvalue(),)


class StorageWeakRef:
    """A weak reference to the memory of tensors. References to the same memory are equal.

    Args:
        storage: a storage, typed or untyped.

    >>> x = torch.zeros(2)
    >>> from flambeau.multiprocessing.reductions import StorageWeakRef
    >>> reference = StorageWeakRef(x.untyped_storage())
    >>> reference == StorageWeakRef(x[1:].untyped_storage())
    True
    >>> del x
    >>> reference.expired()
    True
    """

    __slots__ = ("_reference", "cdata")

    def __init__(self, storage: TypedStorage | UntypedStorage) -> None:
        self._reference = _refer_to_memory(storage.untyped()._bytes)
        self.cdata = id(self._reference)  # `weakref.ref` returns the same object for the same owner

    def expired(self) -> bool:
        """Whether no tensor and no storage uses the memory."""
        return self._reference() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and self.cdata == other.cdata


def _refer_to_memory(data: Tensor) -> weakref.ref[Any]:
    backend, array = data._key.backend, data._array
    if not is_mutable(backend):
        return weakref.ref(memory_root(data))
    try:
        return weakref.ref(backend.allocation(array))
    except TypeError:  # the owner is a `bytearray`, for example: refer to the first array on it
        while isinstance(base := array.base, type(array)):
            array = base
        return weakref.ref(array)
