"""Collectives that differentiate: each is the backward of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd import Function

from . import comm

__all__ = ["Broadcast", "Gather", "ReduceAdd", "Scatter"]


class Broadcast(Function):
    """`apply(devices, *tensors)`: all tensors for the first device, then all for the second, and so on."""

    @staticmethod
    def forward(ctx: Any, devices: Sequence[torch.device], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.source, ctx.count = tensors[0].device, len(tensors)
        unwanted = [position for position, each in enumerate(ctx.needs_input_grad[1:]) if not each]
        copies = comm.broadcast_coalesced(tensors, devices)
        fresh = [[each.view(each.shape) if each.device == ctx.source else each for each in group] for group in copies]
        ctx.mark_non_differentiable(*(group[position] for group in fresh for position in unwanted))
        return tuple(each for group in fresh for each in group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, *ReduceAdd.apply(ctx.source, ctx.count, *gradients)


class ReduceAdd(Function):
    """`apply(destination, count, *tensors)`: of `count` tensors of each device, the sum of those in the same position."""

    @staticmethod
    def forward(ctx: Any, destination: torch.device, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.devices = [each.device for each in tensors[::count]]
        groups = [tensors[start : start + count] for start in range(0, len(tensors), count)]
        return comm.reduce_add_coalesced(groups, destination)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, *Broadcast.apply(ctx.devices, *gradients)


class Scatter(Function):
    """`apply(devices, sizes, dim, tensor)`: a part of the tensor for each device."""

    @staticmethod
    def forward(
        ctx: Any, devices: Sequence[torch.device], sizes: Sequence[int] | None, dim: int, tensor: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.source, ctx.dim = tensor.device, dim
        return tuple(each.clone() if each.device == tensor.device else each for each in comm.scatter(tensor, devices, sizes, dim))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, None, Gather.apply(ctx.source, ctx.dim, *gradients)


class Gather(Function):
    """`apply(destination, dim, *tensors)`: the tensors joined along `dim`; 0-d ones become a vector."""

    @staticmethod
    def forward(ctx: Any, destination: torch.device, dim: int, *tensors: Tensor) -> Tensor:
        ctx.scalars = dim == 0 and all(each.dim() == 0 for each in tensors)
        if ctx.scalars:
            tensors = tuple(each.view(1) for each in tensors)
        ctx.devices, ctx.dim = [each.device for each in tensors], dim
        ctx.sizes = [each.size(dim) for each in tensors]
        return comm.gather(tensors, dim, destination)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        parts = Scatter.apply(ctx.devices, ctx.sizes, ctx.dim, gradient)
        return None, None, *(each[0] if ctx.scalars else each for each in parts)
