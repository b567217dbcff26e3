"""Metadata of shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ShardMetadata"]


@dataclass
class ShardMetadata:
    """The offsets and sizes of a shard, and where it is."""

    shard_offsets: list[int]
    shard_sizes: list[int]
    placement: Any = None
