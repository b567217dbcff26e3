"""Local shapes and offsets of DTensors: the module `torch.distributed.tensor._utils`."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau_nnlib.distributed.device_mesh import DeviceMesh
from flambeau_nnlib.distributed.tensor._dtensor_spec import local_shape, local_shape_and_offset
from flambeau_nnlib.distributed.tensor.placement_types import Placement

__all__ = ["compute_local_shape", "compute_local_shape_and_global_offset"]


def compute_local_shape(global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[int, ...]:
    """Return the shape of this process's shard of a tensor."""
    return local_shape(global_shape, mesh, placements)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of this process's shard of a tensor, and its offset in each dimension.

    Raises:
        NotImplementedError: a dimension is sharded more than once, in an order other than that of the mesh.
    """
    if mesh.get_coordinate() is None:  # this process is not part of the mesh
        return (0,), ()
    return local_shape_and_offset(torch.Size(global_shape), mesh, placements)
