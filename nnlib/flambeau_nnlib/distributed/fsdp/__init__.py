"""Sharded training: `fully_shard` (FSDP2), and the wrapper `FullyShardedDataParallel` (FSDP1), which uses it."""

from __future__ import annotations

from . import _fully_shard, fully_sharded_data_parallel
from ._fully_shard import *  # noqa: F403
from .fully_sharded_data_parallel import *  # noqa: F403

__all__ = [*_fully_shard.__all__, *fully_sharded_data_parallel.__all__]
