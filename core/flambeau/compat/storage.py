"""Private functions of `torch.storage`."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from ..serialization import load

__all__: list[str] = []


def _load_from_bytes(b: bytes) -> Any:
    """Return a storage from a file that holds nothing else, as the pickles of PyTorch's tensors contain it."""
    return load(BytesIO(b), weights_only=True)
