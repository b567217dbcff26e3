"""Collectives that return new tensors instead of writing to their arguments.

A `group` argument is a process group, a one-dimensional mesh, a tuple of a mesh and one of its dimensions, or a list of
ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd import Function

from . import collectives
from .device_mesh import DeviceMesh
from .reduction import ReduceOp
from .world import group_of, new_group

__all__ = [
    "AsyncCollectiveTensor", "all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast", "reduce_scatter_tensor", "reduce_scatter_tensor_autograd", "wait_tensor",
]  # fmt: skip


class AsyncCollectiveTensor(Tensor):
    """The type of the results of unfinished collectives in PyTorch, for `isinstance`.  It has no instances."""


def wait_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor unchanged: these collectives are complete when they return."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """Return the reduction of the tensors of all processes.

    Args:
        self: tensor of the same shape and dtype in every process.
        reduceOp: "sum", "avg", "product", "min", "max", "band", "bor" or "bxor".
        group: the processes, see the module's description.
        tag: ignored.
    """
    result = self.detach().clone(memory_format=torch.contiguous_format)
    collectives.all_reduce(result, _operation(reduceOp), _group(group))
    return result


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """Return the tensor of rank `src`."""
    result = self.detach().clone(memory_format=torch.contiguous_format)
    collectives.broadcast(result, src, _group(group))
    return result


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Concatenate the tensors of all processes along a dimension."""
    processes = _group(group)
    parts = self.detach().movedim(gather_dim, 0).contiguous()
    whole = parts.new_empty((parts.shape[0] * processes.size(), *parts.shape[1:]))
    collectives.all_gather_into_tensor(whole, parts, processes)
    return whole.movedim(0, gather_dim).contiguous()


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """Reduce the tensors of all processes, split the result along a dimension, and return this rank's part.

    Raises:
        AssertionError: the size of the dimension is not a multiple of the number of processes.
    """
    processes = _group(group)
    size = processes.size()
    if self.shape[scatter_dim] % size:
        raise AssertionError(f"input dimension 0 ({self.shape[0]}) must be a multiple of group_size {size}")
    whole = self.detach().movedim(scatter_dim, 0).contiguous()
    part = whole.new_empty((whole.shape[0] // size, *whole.shape[1:]))
    collectives.reduce_scatter_tensor(part, whole, _operation(reduceOp), processes)
    return part.movedim(0, scatter_dim).contiguous()


def all_to_all_single(
    self: Tensor, output_split_sizes: Sequence[int] | None, input_split_sizes: Sequence[int] | None, group: Any, tag: str = ""
) -> Tensor:
    """Send rows to each process, and return the rows received from each process.

    Args:
        output_split_sizes: number of rows received from each process; equal by default.
        input_split_sizes: number of rows sent to each process; equal by default.
    """
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    result = self.new_empty((rows, *self.shape[1:]))
    collectives.all_to_all_single(result, self.detach().contiguous(), output_split_sizes, input_split_sizes, _group(group))
    return result


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, output_sizes: Any, input_sizes: Any, group: Any) -> Tensor:
        ctx.sizes, ctx.group = (input_sizes, output_sizes), group
        return all_to_all_single(tensor, output_sizes, input_sizes, group)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        outputs, inputs = ctx.sizes
        return all_to_all_single(gradient, outputs, inputs, ctx.group), None, None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dim: int, group: Any) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return all_gather_tensor(tensor, dim, group)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return reduce_scatter_tensor(gradient, "sum", ctx.dim, ctx.group), None, None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, operation: str, dim: int, group: Any) -> Tensor:
        ctx.operation, ctx.dim, ctx.group = operation, dim, group
        return reduce_scatter_tensor(tensor, operation, dim, group)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        whole = all_gather_tensor(gradient, ctx.dim, ctx.group)
        return whole / _group(ctx.group).size() if ctx.operation == "avg" else whole, None, None, None


def all_to_all_single_autograd(
    self: Tensor, output_split_sizes: Sequence[int] | None, input_split_sizes: Sequence[int] | None, group: Any, tag: str = ""
) -> Tensor:
    """`all_to_all_single` with a backward pass, which sends the gradient of each row back to the process that sent the row."""
    result: Tensor = _AllToAll.apply(self, output_split_sizes, input_split_sizes, group)
    return result


def all_gather_tensor_autograd(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """`all_gather_tensor` with a backward pass, which sums the gradients over the processes."""
    result: Tensor = _AllGather.apply(self, gather_dim, group)
    return result


def reduce_scatter_tensor_autograd(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """`reduce_scatter_tensor` with a backward pass, which gathers the gradients. ValueError unless `reduceOp` is "sum"
    or "avg".
    """
    if reduceOp.lower() not in ("sum", "avg"):
        raise ValueError(f"a reduction by {reduceOp!r} has no gradient: use 'sum' or 'avg'")
    result: Tensor = _ReduceScatter.apply(self, reduceOp.lower(), scatter_dim, group)
    return result


def _operation(name: str) -> ReduceOp:
    operations = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor")
    if name.lower() not in operations:
        raise ValueError(f"Unsupported reduce operation {name}: it is one of {', '.join(operations)}")
    return getattr(ReduceOp, name.upper())  # type: ignore[no-any-return]


def _group(given: Any) -> Any:
    """Convert a group argument (group, mesh, tuple or list of ranks) to a process group."""
    if isinstance(given, DeviceMesh):
        if given.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return given.get_group()
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], DeviceMesh):
        return given[0].get_group(given[1])
    if isinstance(given, list):
        return new_group(given)
    return group_of(given)
