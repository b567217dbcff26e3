"""Processes in a grid, with a group for every line of it."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from .world import get_rank, get_world_size, new_group

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A grid of processes, by rank.

    Args:
        device_type: the type of the devices they work on.
        mesh: their ranks, in any number of dimensions.
        mesh_dim_names: names of the dimensions.
    """

    def __init__(self, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None) -> None:
        self.device_type, self.mesh_dim_names = device_type, mesh_dim_names
        self.mesh: Tensor = torch.as_tensor(mesh, dtype=torch.int64)
        self._groups = [self._lines(dim) for dim in range(self.mesh.ndim)]

    def _lines(self, dim: int) -> Any:
        """Create a group of every line along a dimension; returns the one that this process is in."""
        lines = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.size(dim)).tolist()
        groups = [(ranks, new_group(ranks)) for ranks in lines]
        return next((group for ranks, group in groups if get_rank() in ranks), None)

    @property
    def ndim(self) -> int:
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or along a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def _dim(self, mesh_dim: int | str | None) -> int:
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(f"Invalid mesh_dim_name {mesh_dim!r} specified; the mesh has {self.mesh_dim_names}")
            return self.mesh_dim_names.index(mesh_dim)  # type: ignore[union-attr]
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be specified when "
                "device_mesh.ndim > 1."
            )
        return mesh_dim or 0

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of the processes on this one's line along a dimension."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """The groups along all dimensions."""
        return list(self._groups)

    def get_rank(self) -> int:
        """This process's rank in the job."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's place along a dimension."""
        return get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> list[int] | None:
        """This process's place in the grid; None if it is not in it."""
        positions = (self.mesh == get_rank()).nonzero()
        return positions[0].tolist() if len(positions) else None

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the grid that this process shares with those that differ in the named dimensions only."""
        dims = [self._dim(name) for name in ((names,) if isinstance(names, str) else names)]
        here = self.get_coordinate() or [0] * self.ndim
        part: DeviceMesh = object.__new__(DeviceMesh)
        part.device_type, part.mesh_dim_names = self.device_type, tuple(self.mesh_dim_names[dim] for dim in dims)  # type: ignore[index]
        part.mesh = self.mesh[tuple(slice(None) if dim in dims else here[dim] for dim in range(self.ndim))]
        part._groups = [self._groups[dim] for dim in dims]
        return part

    def __repr__(self) -> str:
        return f"DeviceMesh({self.device_type!r}, {self.mesh.tolist()}, mesh_dim_names={self.mesh_dim_names})"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """A grid of all processes.

    Raises:
        RuntimeError: the names repeat, or are not as many as the dimensions, or the shape does not hold all processes.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError(
                f"mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): {len(mesh_dim_names)} "
                f"and len(mesh_shape):{len(mesh_shape)}."
            )
    ranks = torch.arange(get_world_size())
    if ranks.numel() != torch.Size(mesh_shape).numel():
        raise RuntimeError(f"Mesh shape {tuple(mesh_shape)} does not hold the {ranks.numel()} processes of the job")
    return DeviceMesh(device_type, ranks.reshape(mesh_shape), mesh_dim_names=mesh_dim_names)
