"""Attention kernels by cuDNN; registered only if cuDNN is installed."""

from __future__ import annotations

from typing import Any

import cupy

from . import dnn
from .kernels import formula, kernel
from .matrix import product

__all__ = ["attention_backward", "fused_attention"]


def _weights(query: Any, key: Any, bias: Any, scale: float) -> Any:
    """Compute the attention weights `softmax(query @ key.T * scale + bias)`; used if cuDNN does not support the operation."""
    scores = product(query, key.swapaxes(-1, -2)).astype("f4") * scale
    scores = scores if bias is None else scores + bias
    weights = cupy.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def fused_attention(
    query: Any, key: Any, value: Any, bias: Any = None, causal: bool = False, scale: float = 1.0, workspace: Any = None
) -> Any:
    outputs = dnn.attention(query, key, value, causal, scale)
    if outputs is None:
        return product(_weights(query, key, bias, scale).astype(query.dtype), value)
    result, statistics = outputs
    if workspace is not None:
        workspace["statistics"] = statistics
    return result


def attention_backward(
    g: Any, query: Any, key: Any, value: Any, bias: Any, out: Any, causal: bool, scale: float, workspace: Any
) -> Any:
    statistics = workspace.get("statistics")
    gradients = None
    if statistics is not None:
        gradients = dnn.attention_backward(g, query, key, value, out, statistics, causal, scale)
    if gradients is not None:
        return gradients
    weights = _weights(query, key, bias, scale)
    grad_weights = product(g, value.swapaxes(-1, -2)).astype("f4")
    grad_scores = (weights * (grad_weights - (weights * grad_weights).sum(-1, keepdims=True)) * scale).astype(query.dtype)
    return (
        product(grad_scores, key),
        product(grad_scores.swapaxes(-1, -2), query),
        product(weights.astype(query.dtype).swapaxes(-1, -2), g),
    )


if dnn.library() is not None:
    kernel(fused_attention)
    formula(attention_backward)
