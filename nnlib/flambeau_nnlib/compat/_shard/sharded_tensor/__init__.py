"""`torch.distributed._shard.sharded_tensor`: the sharded tensors that preceded `DTensor`.  They can be named and not created."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flambeau_nnlib.distributed.checkpoint.metadata import TensorProperties

from ...unsupported import unsupported_class, unsupported_function
from ..metadata import ShardMetadata

__all__ = ["Shard", "ShardedTensor", "ShardedTensorMetadata", "TensorProperties"]

_REASON = "use torch.distributed.tensor.DTensor"


@dataclass
class Shard:
    """A local shard: a tensor and its metadata."""

    tensor: Any
    metadata: ShardMetadata

    @classmethod
    def from_tensor_and_offsets(cls, tensor: Any, shard_offsets: list[int], rank: int) -> Shard:
        """Return the shard of a rank that starts at the given offsets."""
        return cls(tensor, ShardMetadata(shard_offsets, list(tensor.shape), f"rank:{rank}/{tensor.device}"))


@dataclass
class ShardedTensorMetadata:
    """The metadata of all shards, the size of the tensor and its properties."""

    shards_metadata: list[ShardMetadata] = field(default_factory=list)
    size: Any = ()
    tensor_properties: TensorProperties | None = None


class ShardedTensor(unsupported_class("ShardedTensor", _REASON, __name__)):  # type: ignore[misc]
    """A tensor in shards.  It is never created, so that `isinstance` is False for all tensors."""

    _init_from_local_shards_and_global_metadata = staticmethod(unsupported_function("ShardedTensor", _REASON))
