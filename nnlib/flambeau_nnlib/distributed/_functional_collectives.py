"""Collectives that return their result, for libraries that call them so. None has a derivative: see `nn.functional`."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import collectives
from .device_mesh import DeviceMesh
from .reduction import ReduceOp
from .world import get_world_size

__all__ = ["all_gather_tensor", "all_reduce", "broadcast", "reduce_scatter_tensor", "wait_tensor"]


def _group(group: Any) -> Any:
    """A group, that of a mesh of one dimension, or that of a dimension of a mesh."""
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    return group


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, whose exchange is over."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduced tensors of all processes; `reduceOp` is "sum", "avg", "max" and so on."""
    result = self.detach().clone(memory_format=torch.contiguous_format)
    collectives.all_reduce(result, getattr(ReduceOp, reduceOp.upper()), _group(group))
    return result


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of process `src`."""
    result = self.detach().clone(memory_format=torch.contiguous_format)
    collectives.broadcast(result, src, _group(group))
    return result


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all processes, joined along a dimension."""
    group = _group(group)
    parts = [torch.empty_like(self, memory_format=torch.contiguous_format) for _ in range(get_world_size(group))]
    collectives.all_gather(parts, self.detach().contiguous(), group)
    return torch.cat(parts, gather_dim)


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This process's part, along a dimension, of the reduced tensors of all."""
    group = _group(group)
    parts = [part.contiguous() for part in self.detach().chunk(get_world_size(group), scatter_dim)]
    result = torch.empty_like(parts[0])
    collectives.reduce_scatter(result, parts, getattr(ReduceOp, reduceOp.upper()), group)
    return result
