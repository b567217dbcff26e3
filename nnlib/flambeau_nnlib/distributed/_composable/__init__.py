"""Names by which transformers and lightning import what is applied to a network as it is."""

from __future__ import annotations

from .fsdp import fully_shard

__all__ = ["fully_shard"]
