"""Shapes and offsets of the local parts of DTensors: the module `torch.distributed.tensor._utils`."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau_nnlib.distributed.device_mesh import DeviceMesh
from flambeau_nnlib.distributed.tensor._dtensor_spec import local_shape, local_shape_and_offset
from flambeau_nnlib.distributed.tensor.placement_types import Placement

__all__ = ["compute_local_shape", "compute_local_shape_and_global_offset"]


def compute_local_shape(global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[int, ...]:
    """The shape of this process's part of a tensor."""
    return local_shape(global_shape, mesh, placements)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part of a tensor, and where it begins in each dimension.

    Raises:
        NotImplementedError: a dimension is split more than once in an order that is not the mesh's.
    """
    if mesh.get_coordinate() is None:  # this process takes no part in the mesh
        return (0,), ()
    return local_shape_and_offset(torch.Size(global_shape), mesh, placements)
