"""Attention by cuDNN, registered where it is installed."""

from __future__ import annotations

from typing import Any

import cupy

from . import dnn
from .kernels import formula, kernel
from .matrix import product

__all__ = ["attention_backward", "fused_attention"]


def _weights(query: Any, key: Any, bias: Any, scale: float) -> Any:
    """The shares of the values, for what cuDNN has no engine for."""
    scores = product(query, key.swapaxes(-1, -2)).astype("f4") * scale
    scores = scores if bias is None else scores + bias
    weights = cupy.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def fused_attention(
    query: Any, key: Any, value: Any, bias: Any = None, causal: bool = False, scale: float = 1.0, workspace: Any = None
) -> Any:
    made = dnn.attention(query, key, value, causal, scale)
    if made is None:
        return product(_weights(query, key, bias, scale).astype(query.dtype), value)
    result, statistics = made
    if workspace is not None:
        workspace["statistics"] = statistics
    return result


def attention_backward(
    g: Any, query: Any, key: Any, value: Any, bias: Any, out: Any, causal: bool, scale: float, workspace: Any
) -> Any:
    statistics = workspace.get("statistics")
    made = None
    if statistics is not None:
        made = dnn.attention_backward(g, query, key, value, out, statistics, causal, scale)
    if made is not None:
        return made
    weights = _weights(query, key, bias, scale)
    through = product(g, value.swapaxes(-1, -2)).astype("f4")
    slopes = (weights * (through - (weights * through).sum(-1, keepdims=True)) * scale).astype(query.dtype)
    return (
        product(slopes, key),
        product(slopes.swapaxes(-1, -2), query),
        product(weights.astype(query.dtype).swapaxes(-1, -2), g),
    )


if dnn.library() is not None:
    kernel(fused_attention)
    formula(attention_backward)
