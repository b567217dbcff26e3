"""The layout of a DTensor: its mesh, placements, and the shape, strides and dtype of the global tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import flambeau as torch

from ..device_mesh import DeviceMesh
from .placement_types import Placement, Shard, _StridedShard

__all__ = [
    "DTensorSpec",
    "TensorMeta",
    "contiguous_strides",
    "global_shape",
    "local_shape",
    "local_shape_and_offset",
    "split_order",
]


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of the global tensor."""

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True)
class DTensorSpec:
    """Mesh, placements and metadata of a DTensor."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta

    @property
    def device_mesh(self) -> DeviceMesh:
        """Return the device mesh of the tensor."""
        return self.mesh

    @property
    def shape(self) -> torch.Size:
        """Return the shape of the global tensor."""
        return self.tensor_meta.shape

    @property
    def stride(self) -> tuple[int, ...]:
        """Return the strides of the global tensor."""
        return self.tensor_meta.stride

    @property
    def ndim(self) -> int:
        """Return the number of dimensions of the tensor."""
        return len(self.tensor_meta.shape)

    @property
    def num_shards(self) -> int:
        """Return into how many shards the mesh splits the tensor."""
        count = 1
        for dim, placement in enumerate(self.placements):
            count *= self.mesh.size(dim) if placement.is_shard() else 1
        return count

    def with_placements(self, placements: Sequence[Placement]) -> DTensorSpec:
        """Return a copy with other placements."""
        return DTensorSpec(self.mesh, tuple(placements), self.tensor_meta)

    def is_replicated(self) -> bool:
        """Whether every process has the entire tensor."""
        return all(placement.is_replicate() for placement in self.placements)

    def is_sharded(self) -> bool:
        """Whether any mesh dimension shards the tensor."""
        return any(placement.is_shard() for placement in self.placements)

    def __str__(self) -> str:
        return f"Spec({''.join(map(str, self.placements))} on {tuple(self.shape)})"


def split_order(placements: Sequence[Placement]) -> list[int]:
    """Return the mesh dimensions in the order in which they split a tensor: from left to right, then strided shards."""
    strided = [mesh_dim for mesh_dim, placement in enumerate(placements) if isinstance(placement, _StridedShard)]
    return [mesh_dim for mesh_dim in range(len(placements)) if mesh_dim not in strided] + strided[::-1]


def local_shape_and_offset(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of this process's part of a tensor, and its offset in each dimension."""
    sizes, offsets = list(shape), [0] * len(shape)
    for mesh_dim in split_order(placements):
        placement = placements[mesh_dim]
        if isinstance(placement, Shard):
            dim = placement.dim
            rank, count = mesh.get_local_rank(mesh_dim), mesh.size(mesh_dim)
            sizes[dim], start = placement.local_shard_size_and_offset(sizes[dim], count, rank)
            offsets[dim] += start or 0
    return tuple(sizes), tuple(offsets)


def local_shape(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[int, ...]:
    """Return the shape of this process's part of a tensor."""
    return local_shape_and_offset(shape, mesh, placements)[0]


def global_shape(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> torch.Size:
    """Return the global shape, assuming that the local tensors of all processes have this shape."""
    sizes = list(shape)
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            sizes[placement.dim] *= mesh.size(mesh_dim)
    return torch.Size(sizes)


def contiguous_strides(shape: Sequence[int], like: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the strides of a dense tensor of this shape, with the memory order of dimensions that the strides `like` have."""
    order = sorted(range(len(shape)), key=lambda dim: (like[dim] if like else 0, -dim))
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= max(1, shape[dim])
    return tuple(strides)
