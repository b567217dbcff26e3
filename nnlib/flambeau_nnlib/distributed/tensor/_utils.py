"""Where the parts of DTensors lie, under the names by which libraries ask."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch

from ..device_mesh import DeviceMesh
from ._dtensor_spec import local_shape, local_shape_and_offset
from .placement_types import Placement

__all__ = ["compute_local_shape", "compute_local_shape_and_global_offset"]


def compute_local_shape(global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[int, ...]:
    """The shape of this process's part of a tensor."""
    return local_shape(global_shape, mesh, placements)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part of a tensor, and where it begins in each dimension.  For transformers, torchtitan.

    Raises:
        NotImplementedError: a dimension is split more than once in an order that is not the mesh's.
    """
    if mesh.get_coordinate() is None:  # this process takes no part in the mesh
        return (0,), ()
    return local_shape_and_offset(torch.Size(global_shape), mesh, placements)
