"""`torch.storage._load_from_bytes`, a private function that pickles of storages call."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from ..engine.values import dtypes
from ..protocols.pickling import Reduced
from ..serialization import load, save
from ..storage import TypedStorage, UntypedStorage

__all__ = ["reduce_storage"]


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
