"""Redistribution of DTensors: the collectives that change placements, and the placements of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .. import collectives
from ..device_mesh import DeviceMesh
from ._dtensor_spec import DTensorSpec, local_shape, split_order
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard, padded

__all__ = ["gradient_placements", "redistribute_local_tensor"]

Step = tuple[int, Placement, Placement]  # mesh dimension, current placement, target placement


def redistribute_local_tensor(local: Tensor, current: DTensorSpec, target: DTensorSpec) -> Tensor:
    """Return this process's part of the tensor with other placements on the same mesh."""
    mesh, placements = current.mesh, list(current.placements)
    for mesh_dim, source, goal in steps(current.placements, target.placements):
        others = [Replicate() if dim == mesh_dim else placement for dim, placement in enumerate(placements)]
        outside = local_shape(current.shape, mesh, others)  # shape before this mesh dimension splits it
        local = _move(local, source, goal, mesh, mesh_dim, outside)
        placements[mesh_dim] = goal
    return local


def steps(current: Sequence[Placement], target: Sequence[Placement]) -> list[Step]:
    """Return the placement changes, with their mesh dimensions, in order.

    Strided shards are split after the mesh dimensions to their right. So strided shards that change are gathered first
    and split last.
    """
    current, target = list(current), list(target)
    before: list[Step] = []
    after: list[Step] = []
    changes = {
        dim
        for source, goal in zip(current, target, strict=True)
        if source != goal
        for dim in (getattr(source, "dim", None), getattr(goal, "dim", None))
    }
    for mesh_dim in split_order(current)[::-1]:
        source = current[mesh_dim]
        if isinstance(source, _StridedShard) and source.dim in changes:
            before.append((mesh_dim, source, Replicate()))
            current[mesh_dim] = Replicate()
    for mesh_dim in split_order(target):
        goal = target[mesh_dim]
        if isinstance(goal, _StridedShard) and goal.dim in changes:
            after.append((mesh_dim, Replicate(), goal))
            target[mesh_dim] = Replicate()
    return [*before, *_plain_steps(current, target), *after]


def _plain_steps(current: Sequence[Placement], target: Sequence[Placement]) -> list[Step]:
    """Return `steps` for placements in which no strided shard changes.

    A tensor dimension sharded by several mesh dimensions is split from left to right, so it is gathered from right to
    left. Shards to the right of a change in the same tensor dimension are gathered first.
    """
    gathered: list[Step] = []
    moved: list[Step] = []
    touched: set[int] = set()
    for mesh_dim, (source, goal) in enumerate(zip(current, target, strict=True)):
        dims = {placement.dim for placement in (source, goal) if isinstance(placement, Shard)}
        if source == goal and not dims & touched:
            continue
        if isinstance(source, Shard) and source.dim in touched:
            gathered.append((mesh_dim, source, Replicate()))
            source = Replicate()
        if source != goal:
            moved.append((mesh_dim, source, goal))
        touched |= dims
    return gathered[::-1] + moved


def _move(local: Tensor, source: Placement, goal: Placement, mesh: DeviceMesh, mesh_dim: int, outside: Sequence[int]) -> Tensor:
    """Change the placement on one mesh dimension. `outside` is the local shape without sharding on this mesh dimension."""
    group, rank, count = mesh.get_group(mesh_dim), mesh.get_local_rank(mesh_dim), mesh.size(mesh_dim)
    if isinstance(goal, Partial):
        if isinstance(source, Shard):
            local = _all_gather(local, source.dim, outside[source.dim], group, count)
        elif isinstance(source, Partial):
            local = _all_reduce(local, source, group)
        return goal.partial_of(local, rank, count)
    if isinstance(source, Partial):
        return (
            _reduce_scatter(local, source, goal.dim, group, rank, count)
            if isinstance(goal, Shard)
            else _all_reduce(local, source, group)
        )
    if isinstance(source, Replicate):
        return _own_part(local, goal, rank, count) if isinstance(goal, Shard) else local
    assert isinstance(source, Shard)
    if isinstance(goal, Shard):
        return _all_to_all(local, source, goal, outside, group, rank, count)
    return _all_gather(local, source.dim, outside[source.dim], group, count)


def _own_part(whole: Tensor, shard: Shard, rank: int, count: int) -> Tensor:
    size, start = shard.local_shard_size_and_offset(whole.size(shard.dim), count, rank)
    return whole.narrow(shard.dim, start or 0, size).clone()


def _all_reduce(local: Tensor, partial: Partial, group: Any) -> Tensor:
    terms, op = partial.before(local)
    terms = terms.clone(memory_format=torch.contiguous_format)
    collectives.all_reduce(terms, op, group)
    return partial.after(terms)


def _all_gather(local: Tensor, dim: int, length: int, group: Any, count: int) -> Tensor:
    """Concatenate the shards of a dimension; all except the last ones have equal sizes."""
    row = padded(local.movedim(dim, 0), 0, -(-length // count)).contiguous()
    whole = row.new_empty((count * row.size(0), *row.shape[1:]))
    collectives.all_gather_into_tensor(whole, row, group)
    return whole[:length].movedim(0, dim).contiguous()


def _reduce_scatter(local: Tensor, partial: Partial, dim: int, group: Any, rank: int, count: int) -> Tensor:
    length = local.size(dim)
    size, _ = Shard.local_shard_size_and_offset(length, count, rank)
    terms, op = partial.before(local)
    rows = padded(terms.movedim(dim, 0), 0, -(-length // count) * count).contiguous()
    own = rows.new_empty((rows.size(0) // count, *rows.shape[1:]))
    collectives.reduce_scatter_tensor(own, rows, op, group)
    return partial.after(own[:size].movedim(0, dim).contiguous())


def _all_to_all(local: Tensor, source: Shard, goal: Shard, outside: Sequence[int], group: Any, rank: int, count: int) -> Tensor:
    """Move the sharding from one tensor dimension to another."""
    sent, _ = goal._split_tensor(local, count, with_padding=False)
    shape = list(local.shape)
    shape[goal.dim] = goal.local_shard_size_and_offset(outside[goal.dim], count, rank)[0]
    received = []
    for other in range(count):
        shape[source.dim] = source.local_shard_size_and_offset(outside[source.dim], count, other)[0]
        received.append(local.new_empty(shape))
    collectives.all_to_all(received, sent, group)
    return torch.cat(received, source.dim)


def gradient_placements(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """Return the placements of a tensor's gradient: `Partial` becomes `Replicate`, since d(sum)/d(term) = 1."""
    return tuple(Replicate() if isinstance(placement, Partial) else placement for placement in placements)
