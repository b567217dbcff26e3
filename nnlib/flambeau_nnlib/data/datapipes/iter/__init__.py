"""Iterable data pipes."""

from __future__ import annotations

from .pipes import (
    Batcher,
    Collator,
    Concater,
    Filter,
    IterableWrapper,
    Mapper,
    ShardingFilter,
    Shuffler,
    UnBatcher,
    Zipper,
    apply_random_seed,
    apply_sharding,
    apply_shuffle_settings,
)

__all__ = [
    "Batcher", "Collator", "Concater", "Filter", "IterableWrapper", "Mapper", "ShardingFilter", "Shuffler", "UnBatcher", "Zipper",
    "apply_random_seed", "apply_sharding", "apply_shuffle_settings",
]  # fmt: skip
