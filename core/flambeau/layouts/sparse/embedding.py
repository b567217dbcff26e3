"""`embedding` and `gather` with sparse gradients, which store only the rows or elements that were selected."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...autograd.function import Function
from ...engine.calls.node_names import with_grad_fn
from ...engine.tensors.tensor import Tensor
from .tensors import build

__all__ = ["embedding", "gather"]


class _Rows(Function):
    """Select rows of `weight` by indices.  The gradient of `weight` is a COO tensor with one entry per index."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
        ctx.indices, ctx.shape, ctx.padding_idx, ctx.by_frequency = indices, weight.shape, padding_idx, by_frequency
        return torch.embedding(weight, indices, padding_idx)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        rows, values = ctx.indices.reshape(-1).to(torch.int64), gradient.reshape(ctx.indices.numel(), ctx.shape[1])
        if ctx.by_frequency:
            _, group, counts = torch.unique(rows, return_inverse=True, return_counts=True)
            values = values / counts[group].unsqueeze(1).to(values.dtype)
        if ctx.padding_idx >= 0:
            kept = (rows != ctx.padding_idx).nonzero().squeeze(1)
            rows, values = rows[kept], values[kept]
        return build("sparse_coo", [rows.unsqueeze(0)], values, ctx.shape, coalesced=False), None, None, None


@with_grad_fn("EmbeddingBackward0")
def embedding(weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
    """Return the rows of `weight` at `indices`; the gradient of `weight` is sparse."""
    return _Rows.apply(weight, indices, padding_idx, by_frequency)  # type: ignore[no-any-return]  # `apply` returns Any


class _Gather(Function):
    """`torch.gather` with a sparse gradient: a COO tensor with one entry per element of `index`."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, index: Tensor, dim: int) -> Tensor:
        ctx.index, ctx.shape, ctx.dim = index, input.shape, dim
        return torch.gather(input, dim, index)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        places = torch.ones_like(ctx.index).nonzero().T
        taken = ctx.index.reshape(1, -1)
        places = torch.cat([places[: ctx.dim], taken, places[ctx.dim + 1 :]])
        return build("sparse_coo", [places], gradient.reshape(-1), ctx.shape, coalesced=False), None, None


@with_grad_fn("GatherBackward0")
def gather(input: Tensor, index: Tensor, dim: int) -> Tensor:
    """Call `torch.gather`; the gradient of `input` is sparse."""
    return _Gather.apply(input, index, dim)  # type: ignore[no-any-return]  # `apply` returns Any
