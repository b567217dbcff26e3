"""The layout of a DTensor: its mesh, a placement for each dimension of it, and the whole tensor's shape, strides and dtype."""

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
    """What is known of the whole tensor without its elements."""

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True)
class DTensorSpec:
    """A layout."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> torch.Size:
        """The shape of the whole tensor."""
        return self.tensor_meta.shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The strides of the whole tensor."""
        return self.tensor_meta.stride

    @property
    def ndim(self) -> int:
        """How many dimensions the tensor has."""
        return len(self.tensor_meta.shape)

    @property
    def num_shards(self) -> int:
        """Into how many parts the tensor is split."""
        count = 1
        for dim, placement in enumerate(self.placements):
            count *= self.mesh.size(dim) if placement.is_shard() else 1
        return count

    def with_placements(self, placements: Sequence[Placement]) -> DTensorSpec:
        """The same tensor in another layout."""
        return DTensorSpec(self.mesh, tuple(placements), self.tensor_meta)

    def is_replicated(self) -> bool:
        """Whether every process holds the whole."""
        return all(placement.is_replicate() for placement in self.placements)

    def is_sharded(self) -> bool:
        """Whether some processes hold different parts."""
        return any(placement.is_shard() for placement in self.placements)

    def __str__(self) -> str:
        return f"Spec({''.join(map(str, self.placements))} on {tuple(self.shape)})"


def split_order(placements: Sequence[Placement]) -> list[int]:
    """The dimensions of a mesh in the order in which they split: strided shards come after those to the right of them."""
    strided = [mesh_dim for mesh_dim, placement in enumerate(placements) if isinstance(placement, _StridedShard)]
    return [mesh_dim for mesh_dim in range(len(placements)) if mesh_dim not in strided] + strided[::-1]


def local_shape_and_offset(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part of a tensor, and where it begins in each dimension."""
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
    """The shape of this process's part of a tensor."""
    return local_shape_and_offset(shape, mesh, placements)[0]


def global_shape(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> torch.Size:
    """The shape of the tensor whose parts all have this shape."""
    sizes = list(shape)
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            sizes[placement.dim] *= mesh.size(mesh_dim)
    return torch.Size(sizes)


def contiguous_strides(shape: Sequence[int], like: Sequence[int] = ()) -> tuple[int, ...]:
    """The strides of a dense tensor whose dimensions lie in memory in the order of those with the strides `like`."""
    order = sorted(range(len(shape)), key=lambda dim: (like[dim] if like else 0, -dim))
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= max(1, shape[dim])
    return tuple(strides)
