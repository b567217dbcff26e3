"""The former location of `fully_shard`, and that of `replicate`."""

from __future__ import annotations

from ...nn.parallel.composable import replicate
from .fsdp import fully_shard

__all__ = ["fully_shard", "replicate"]
