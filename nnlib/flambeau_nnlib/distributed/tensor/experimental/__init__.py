"""Functions on local tensors, and rules of one's own."""

from __future__ import annotations

from .._dispatch import implicit_replication
from .functions import local_map, register_sharding

__all__ = ["implicit_replication", "local_map", "register_sharding"]
