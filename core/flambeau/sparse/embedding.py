"""Embedding with a sparse gradient: the rows that were looked up, and no others."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ..tape.node import shown_as
from ..tensors.tensor import Tensor
from .tensors import Function, build

__all__ = ["embedding"]


class _Rows(Function):
    """The rows of a table at indices; the gradient of the table has an entry for each of them."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
        ctx.indices, ctx.shape, ctx.padding_idx, ctx.by_frequency = indices, weight.shape, padding_idx, by_frequency
        return torch.embedding(weight, indices, padding_idx)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]  # one gradient
        rows, values = ctx.indices.reshape(-1).to(torch.int64), gradient.reshape(-1, ctx.shape[1])
        if ctx.by_frequency:
            _, group, counts = torch.unique(rows, return_inverse=True, return_counts=True)
            values = values / counts[group].unsqueeze(1).to(values.dtype)
        if ctx.padding_idx >= 0:
            kept = (rows != ctx.padding_idx).nonzero().squeeze(1)
            rows, values = rows[kept], values[kept]
        return build("sparse_coo", [rows.unsqueeze(0)], values, ctx.shape, coalesced=False), None, None, None


def embedding(weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
    """The rows of `weight` at `indices`, with a sparse gradient."""
    return shown_as(_Rows.apply(weight, indices, padding_idx, by_frequency), "EmbeddingBackward0")
