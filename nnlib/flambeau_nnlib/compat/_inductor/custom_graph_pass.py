"""`torch._inductor.custom_graph_pass`: base class of passes over graphs.  Passes in the settings are kept and not called."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

__all__ = ["CustomGraphPass", "get_hash_for_files"]


class CustomGraphPass(ABC):
    """A pass that changes a graph in place, with a key for caches."""

    @abstractmethod
    def __call__(self, graph: Any) -> None: ...

    @abstractmethod
    def uuid(self) -> Any | None:
        """Return a value that identifies the pass and its version, or None."""


def get_hash_for_files(paths: tuple[str, ...], extra: str = "") -> bytes:
    """Return a hash of the contents of files."""
    hasher = hashlib.sha256(extra.encode("utf-8"))
    for path in paths:
        hasher.update(path.encode("utf-8"))
        hasher.update(Path(path).read_bytes())
    return hasher.digest()
