"""Collectives through which gradients flow. The gradients are those of the sum of the losses of all processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd import Function

from .. import collectives
from ..reduction import ReduceOp
from ..world import get_group_rank, get_rank, get_world_size, group_of

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "reduce_scatter"]


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: ReduceOp, group: Any) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone(memory_format=torch.contiguous_format)
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return _AllReduce.apply(gradient, ctx.op, ctx.group), None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> tuple[Tensor, ...]:
        ctx.group = group
        parts = [torch.empty_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(parts, tensor.contiguous(), group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return reduce_scatter(torch.empty_like(gradients[0]), list(gradients), group=ctx.group), None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, op: ReduceOp, group: Any, *inputs: Tensor) -> Tensor:
        ctx.group = group
        result = torch.empty_like(output)
        collectives.reduce_scatter(result, [tensor.contiguous() for tensor in inputs], op, group)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, None, *all_gather(gradient, ctx.group)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone(memory_format=torch.contiguous_format)
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        total = gradient.clone(memory_format=torch.contiguous_format)
        collectives.all_reduce(total, group=ctx.group)
        process_group = group_of(ctx.group)
        own = process_group is not None and get_rank(ctx.group) == get_group_rank(process_group, ctx.src)
        return total if own else torch.zeros_like(total), None, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, tensor: Tensor, outputs: Any, inputs: Any, group: Any) -> Tensor:
        ctx.shape, ctx.sizes, ctx.group = tensor.shape, (outputs, inputs), group
        result = torch.empty_like(output)
        collectives.all_to_all_single(result, tensor.contiguous(), outputs, inputs, group)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        outputs, inputs = ctx.sizes
        return None, _AllToAll.apply(gradient.new_empty(ctx.shape), gradient, inputs, outputs, ctx.group), None, None, None


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of the tensors of all processes."""
    return _AllReduce.apply(tensor, op, group)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes in rank order."""
    return _AllGather.apply(tensor, group)  # type: ignore[no-any-return]


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of the tensors `input_list[rank]` of all processes; `output` only provides shape and dtype."""
    return _ReduceScatter.apply(output, op, group, *input_list)  # type: ignore[no-any-return]


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of rank `src`."""
    return _Broadcast.apply(tensor, src, group)  # type: ignore[no-any-return]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """Return the result of `torch.distributed.all_to_all_single`; `output` only provides shape and dtype."""
    return _AllToAll.apply(output, input, output_split_sizes, input_split_sizes, group)  # type: ignore[no-any-return]


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Send one tensor to each process, and return those received; the outputs only provide shapes and dtypes."""
    output = torch.cat([tensor.reshape(-1) for tensor in output_tensor_list])
    sent, sizes = [tensor.numel() for tensor in input_tensor_list], [tensor.numel() for tensor in output_tensor_list]
    received = all_to_all_single(output, torch.cat([tensor.reshape(-1) for tensor in input_tensor_list]), sizes, sent, group)
    parts = zip(received.split(sizes), output_tensor_list, strict=True)
    return tuple(part.view(like.shape) for part, like in parts)
