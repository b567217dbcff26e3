"""`DeviceMesh`: an n-dimensional grid of ranks with one process group per dimension."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .world import (
    default_group,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group_of,
    init_process_group,
    is_initialized,
    new_group,
)

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """An n-dimensional grid of ranks, with a process group along each dimension.

    Args:
        device_type: device type of the processes, for example "cpu".
        mesh: array of ranks, of any number of dimensions.
        mesh_dim_names: names of the dimensions.

    Within `with mesh:`, this mesh is the default of functions that take one.
    """

    _root: DeviceMesh | None = None  # if this mesh was made by `mesh[names]`: the original mesh
    _flattened_dims: list[int]  # if this mesh was made by `_flatten`: the dimensions of the original mesh

    def __init__(self, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None) -> None:
        self.mesh: Tensor = torch.as_tensor(mesh, dtype=torch.int32, device="cpu")  # even if the default device is another
        self._set_names(device_type, mesh_dim_names)
        self._groups = [self._create_groups(dim) for dim in range(self.mesh.ndim)]

    def _set_names(self, device_type: str, names: Sequence[str] | None) -> None:
        self.device_type, self.mesh_dim_names = device_type, None if names is None else tuple(names)
        self._flat: dict[str, DeviceMesh] = {}

    @classmethod
    def _of(cls, device_type: str, mesh: Tensor, groups: list[Any], names: Sequence[str] | None) -> DeviceMesh:
        """Return a mesh of existing process groups."""
        made: DeviceMesh = object.__new__(cls)
        made.mesh, made._groups = mesh, groups
        made._set_names(device_type, names)
        return made

    @classmethod
    def from_group(
        cls, group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None
    ) -> DeviceMesh:
        """Return a mesh that uses an existing process group, or a list of groups, one for each dimension of `mesh`."""
        if isinstance(group, (list, tuple)) and len(group) > 1:
            if mesh is None:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            return cls._of(device_type, torch.as_tensor(mesh, dtype=torch.int32, device="cpu"), list(group), mesh_dim_names)
        single = group[0] if isinstance(group, (list, tuple)) else group
        ranks = torch.tensor(get_process_group_ranks(single), dtype=torch.int32, device="cpu")
        if mesh is not None and torch.as_tensor(mesh).tolist() != ranks.tolist():
            raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks.tolist()}")
        return cls._of(device_type, ranks, [group_of(single)], mesh_dim_names)

    def _create_groups(self, dim: int) -> Any:
        """Create a process group for each line of ranks along a dimension; return the group that contains this process."""
        lines = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.size(dim)).tolist()
        if lines == [default_group().ranks]:
            return default_group()
        groups = [(ranks, new_group(ranks)) for ranks in lines]
        return next((group for ranks, group in groups if get_rank() in ranks), None)

    # --- identity ---

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return (self.device_type, self.shape, tuple(self.mesh.flatten().tolist()), self.mesh_dim_names)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._identity == other._identity)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the process groups, which `__setstate__` looks up again."""
        kept = ("mesh", "device_type", "mesh_dim_names")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.mesh = state["mesh"]
        self._set_names(state["device_type"], state["mesh_dim_names"])
        known = [mesh for mesh in _meshes.values() if mesh == self]
        self._groups = known[-1]._groups if known else [None] * self.mesh.ndim

    def __enter__(self) -> DeviceMesh:
        _current().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _current().pop()

    # --- sizes and coordinates ---

    @property
    def ndim(self) -> int:
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of processes, in total or along one dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def _dim(self, mesh_dim: int | str | None) -> int:
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                valid = [*(self.mesh_dim_names or ()), *self._flat]
                raise KeyError(f"Invalid mesh_dim_names ('{mesh_dim}',) specified. Valid mesh_dim_names are {valid}.")
            return self.mesh_dim_names.index(mesh_dim)  # type: ignore[union-attr]
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be specified when "
                "device_mesh.ndim > 1."
            )
        return mesh_dim or 0

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """Return the process group along a dimension, or along flattened dimensions, that contains this process."""
        flat = self._flat.get(mesh_dim) if isinstance(mesh_dim, str) else None
        return self._groups[self._dim(mesh_dim)] if flat is None else flat._groups[0]

    def get_all_groups(self) -> list[Any]:
        """Return this process's groups along all dimensions."""
        return list(self._groups)

    def get_rank(self) -> int:
        """Return this process's global rank."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return this process's index along a dimension."""
        return get_rank(self.get_group(mesh_dim))

    @cached_property
    def _place(self) -> tuple[int, ...] | None:
        positions = (self.mesh == get_rank()).nonzero()
        return tuple(positions[0].tolist()) if len(positions) else None

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Return this process's coordinates in the mesh; None if the mesh does not contain this process."""
        return self._place

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._place is not None

    # --- submeshes ---

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the submesh of the named dimensions that contains this process. Names of flattened dimensions are valid too.

        Raises:
            RuntimeError: the mesh has no dimension names, or a dimension is named twice.
            KeyError: a name is not a dimension of the mesh, or the dimensions are not in the order of the mesh.
        """
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        named = (names,) if isinstance(names, str) else tuple(names)
        if named == self.mesh_dim_names:
            return self
        if len(named) == 1 and named[0] in self._flat:
            return self._flat[named[0]]
        parts = [self._dims_of(name) for name in named]
        dims = [dim for part in parts for dim in part]
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"Slicing overlapping dim_names {named} is not allowed.")
        if dims != sorted(dims):
            raise KeyError(f"Invalid mesh_dim_names {named} specified. Mesh dim indices should be in ascending order.")
        here = self.get_coordinate() or (0,) * self.ndim
        ranks = self.mesh[tuple(slice(None) if dim in dims else here[dim] for dim in range(self.ndim))]
        ranks = ranks.reshape([prod(self.mesh.size(dim) for dim in part) for part in parts])
        part = self._of(self.device_type, ranks, [self.get_group(name) for name in named], named)
        part._root = self._root or self
        return part

    def _dims_of(self, name: str) -> list[int]:
        """Return the dimension of a name, or the dimensions that were flattened to it."""
        flat = self._flat.get(name)
        return [self._dim(name)] if flat is None else flat._flattened_dims

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """Return a one-dimensional mesh of the same processes. Later, `root[mesh_dim_name]` returns the same mesh."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ("flat",))
        root = self._root or self
        if name in (root.mesh_dim_names or ()):
            raise ValueError(f"{name} already exists for submesh of the {root}. Please specify another valid mesh_dim_name.")
        dims = [dim for own in self.mesh_dim_names or () for dim in root._dims_of(own)] or list(range(root.ndim))
        if name in root._flat and root._flat[name]._flattened_dims != dims:
            raise ValueError(
                f"Flatten mesh with mesh_dim_name {name} has been created before, Please specify another valid mesh_dim_name."
            )
        if name not in root._flat:
            if self.ndim == 1:
                flat = self._of(self.device_type, self.mesh, self._groups, (name,))
            else:
                others = self._siblings(root, dims)
                groups = [(ranks, new_group(ranks)) for ranks in others]
                own = self.mesh.flatten()
                group = next((group for ranks, group in groups if ranks == own.tolist()), None)
                flat = self._of(self.device_type, own, [group], (name,))
            flat._root, flat._flattened_dims, root._flat[name] = root, dims, flat
        return root._flat[name]

    def _siblings(self, root: DeviceMesh, dims: list[int]) -> list[list[int]]:
        """Return the ranks of this submesh and of all parallel submeshes of `root`, in the same order in all processes."""
        moved: list[list[int]] = (
            root.mesh.movedim(dims, tuple(range(root.ndim - len(dims), root.ndim))).reshape(-1, self.mesh.numel()).tolist()
        )
        return moved

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root or self

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        named = names and f"({', '.join(f'{name}={size}' for name, size in zip(names, self.shape, strict=True))})"
        return f"DeviceMesh({named or self.shape}, {self.device_type!r}, stride={tuple(self.mesh.stride())})"


_meshes: weakref.WeakValueDictionary[int, DeviceMesh] = weakref.WeakValueDictionary()  # made by `init_device_mesh`
_local = threading.local()


def _current() -> list[DeviceMesh]:
    if not hasattr(_local, "meshes"):
        _local.meshes = []
    return _local.meshes  # type: ignore[no-any-return]


def current_mesh() -> DeviceMesh:
    """Return the mesh of the innermost `with mesh:` block. Raise RuntimeError outside of such a block."""
    if not _current():
        raise RuntimeError("No device mesh is currently active!")
    return _current()[-1]


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """Return a mesh of all processes; initialize the default process group from the environment if necessary.

    Args:
        device_type: device type of the processes, for example "cpu".
        mesh_shape: number of processes in each dimension.
        mesh_dim_names: names of the dimensions.

    Raises:
        RuntimeError: names repeat, their number differs from the number of dimensions, or the product of the shape is
            not the number of processes.
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
    if not is_initialized():
        init_process_group()
    ranks = torch.arange(get_world_size(), dtype=torch.int32, device="cpu")
    if ranks.numel() != torch.Size(mesh_shape).numel():
        raise RuntimeError(f"Mesh shape {tuple(mesh_shape)} does not hold the {ranks.numel()} processes of the job")
    mesh = DeviceMesh(device_type, ranks.reshape(mesh_shape), mesh_dim_names=mesh_dim_names)
    _meshes[id(mesh)] = mesh
    return mesh


class _MeshResources:
    """The meshes of this process, with PyTorch's private methods."""

    def get_root_mesh(self, device_mesh: DeviceMesh) -> DeviceMesh:
        """Return the mesh that a mesh was sliced from, or the mesh itself."""
        return device_mesh._get_root_mesh()


_mesh_resources = _MeshResources()
