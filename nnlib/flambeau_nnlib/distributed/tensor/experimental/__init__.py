"""Functions on local tensors (`local_map`), and user-defined sharding rules (`register_sharding`)."""

from __future__ import annotations

from flambeau_nnlib.compat.context_parallel import context_parallel

from .._dispatch import implicit_replication
from .functions import local_map, register_sharding

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]
