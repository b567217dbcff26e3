"""Collectives as operators: `torch.ops._c10d_functional`, which take a group by name, and `torch.ops.c10d`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor

from . import collectives
from . import functional_collectives as functional
from .functional_collectives import wait_tensor
from .world import named_group

__all__ = [
    "all_gather_into_tensor", "all_reduce", "all_to_all_single", "broadcast", "reduce_scatter_tensor", "scatter_", "wait_tensor",
]  # fmt: skip


def all_gather_into_tensor(input: Tensor, group_size: int, group_name: str) -> Tensor:
    """Concatenate the tensors of all processes of a group."""
    return functional.all_gather_tensor(input, 0, named_group(group_name))


def reduce_scatter_tensor(input: Tensor, reduce_op: str, group_size: int, group_name: str) -> Tensor:
    """Reduce the tensors of all processes, and return this rank's rows of the result."""
    return functional.reduce_scatter_tensor(input, reduce_op, 0, named_group(group_name))


def all_reduce(input: Tensor, reduce_op: str, group_name: str) -> Tensor:
    """Return the reduction of the tensors of all processes."""
    return functional.all_reduce(input, reduce_op, named_group(group_name))


def all_to_all_single(
    input: Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int], group_name: str
) -> Tensor:
    """Send rows to each process, and return the rows received from each process."""
    return functional.all_to_all_single(input, output_split_sizes, input_split_sizes, named_group(group_name))


def broadcast(input: Tensor, src: int, group_name: str) -> Tensor:
    """Return the tensor of rank `src`."""
    return functional.broadcast(input, src, named_group(group_name))


def scatter_(
    output_tensors: list[Tensor],
    input_tensors: list[list[Tensor]],
    process_group: Any,
    root_rank: int,
    asyncOp: bool = True,
    timeout: int = -1,
) -> tuple[list[Tensor], Any]:
    """Send one tensor of the root process to each process; return the received tensors, and the completed work."""
    inputs = input_tensors[0] if input_tensors else None
    work = collectives.scatter(output_tensors[0], inputs, group=process_group, async_op=asyncOp, group_src=root_rank)
    return output_tensors, work


def _wrap_tensor_autograd(tensor: Tensor) -> Tensor:
    """Return the tensor unchanged: in PyTorch, it becomes an `AsyncCollectiveTensor`, which waits at its first use."""
    return tensor
