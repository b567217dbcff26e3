"""`torch._weights_only_unpickler`: the unpickler of `torch.load(weights_only=True)`."""

from __future__ import annotations

from typing import IO, Any

from ..serialization.options import safe_globals_by_name as _get_user_allowed_globals
from ..serialization.pickles import SafeUnpickler as Unpickler

__all__ = ["Unpickler", "_get_user_allowed_globals", "load"]


def load(file: IO[bytes], *, encoding: str = "ASCII") -> Any:
    """Unpickle tensors and plain data from a file."""
    return Unpickler(file, encoding=encoding).load()
