"""The former location of `fully_shard`."""

from __future__ import annotations

from .fsdp import fully_shard

__all__ = ["fully_shard"]
