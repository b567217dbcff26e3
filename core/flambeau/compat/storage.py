"""`torch.storage._load_from_bytes`, a private function that pickles of storages call."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from ..serialization import load

__all__: list[str] = []


def _load_from_bytes(b: bytes) -> Any:
    """Load the storage saved by `torch.save` in `b`: PyTorch pickles a storage as a call of this function."""
    return load(BytesIO(b), weights_only=True)
