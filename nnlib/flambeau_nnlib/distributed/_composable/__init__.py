"""Functions that change a module in place, by their older names."""

from __future__ import annotations

from ..fsdp import fully_shard

__all__ = ["fully_shard"]
