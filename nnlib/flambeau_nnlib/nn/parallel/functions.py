"""Differentiable collectives between devices. Broadcast and sum are each other's backward, as are scatter and gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd import Function
from flambeau.extension import private_names

from . import comm

__all__ = ["Broadcast", "Gather", "ReduceAdd", "Scatter"]

__getattr__ = private_names(__name__)


class Broadcast(Function):
    """`apply(devices, *tensors)` copies tensors to devices: all copies for the first device, then for the second, ..."""

    @staticmethod
    def forward(ctx: Any, devices: Sequence[torch.device], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.source, ctx.count = tensors[0].device, len(tensors)
        no_grad = [position for position, needs_grad in enumerate(ctx.needs_input_grad[1:]) if not needs_grad]
        copies = comm.broadcast_coalesced(tensors, devices)
        # on the source device, the copies are the inputs themselves: return views, since outputs must be new tensors
        outputs = [[copy.view(copy.shape) if copy.device == ctx.source else copy for copy in group] for group in copies]
        ctx.mark_non_differentiable(*(group[position] for group in outputs for position in no_grad))
        return tuple(output for group in outputs for output in group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, *ReduceAdd.apply(ctx.source, ctx.count, *gradients)


class ReduceAdd(Function):
    """Sum tensors over devices: `apply(destination, count, *tensors)` returns `count` sums on the device `destination`.

    `tensors` consists of `count` tensors on the first device, `count` tensors on the second one, and so on.
    """

    @staticmethod
    def forward(ctx: Any, destination: torch.device, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.devices = [tensor.device for tensor in tensors[::count]]
        groups = [tensors[start : start + count] for start in range(0, len(tensors), count)]
        return comm.reduce_add_coalesced(groups, destination)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, *Broadcast.apply(ctx.devices, *gradients)


class Scatter(Function):
    """`apply(devices, sizes, dim, tensor)` splits a tensor along `dim` and copies one part to each device."""

    @staticmethod
    def forward(
        ctx: Any, devices: Sequence[torch.device], sizes: Sequence[int] | None, dim: int, tensor: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.source, ctx.dim = tensor.device, dim
        parts = comm.scatter(tensor, devices, sizes, dim)
        return tuple(part.clone() if part.device == tensor.device else part for part in parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, None, Gather.apply(ctx.source, ctx.dim, *gradients)


class Gather(Function):
    """`apply(destination, dim, *tensors)` concatenates tensors along `dim`; 0-d tensors are stacked to a vector."""

    @staticmethod
    def forward(ctx: Any, destination: torch.device, dim: int, *tensors: Tensor) -> Tensor:
        ctx.scalars = dim == 0 and all(tensor.dim() == 0 for tensor in tensors)
        if ctx.scalars:
            tensors = tuple(tensor.view(1) for tensor in tensors)
        ctx.devices, ctx.dim = [tensor.device for tensor in tensors], dim
        ctx.sizes = [tensor.size(dim) for tensor in tensors]
        return comm.gather(tensors, dim, destination)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        parts = Scatter.apply(ctx.devices, ctx.sizes, ctx.dim, gradient)
        return None, None, *(part[0] if ctx.scalars else part for part in parts)
