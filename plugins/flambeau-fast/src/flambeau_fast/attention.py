"""Attention and its gradients, without storing the full score matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from .choice import FLOAT, fast
from .kernels import alone, kernels, optional

LEAST = 1 << 12

_NO_BIAS = np.zeros((1, 1, 1, 1), FLOAT)


def _suits(array: Any, like: Any) -> bool:
    """Whether the kernels support a 4-D array: float32, contiguous features, and the batch and heads of `like`."""
    comparable = array.ndim == 4 and array.dtype is FLOAT and array.shape[:2] == like.shape[:2]
    return comparable and array.strides[3] == 4 <= array.strides[2]


def _suit(query: Any, key: Any, value: Any) -> bool:
    fit = all(_suits(array, query) for array in (query, key, value)) and key.shape[2] == value.shape[2]
    return fit and key.shape[3] == query.shape[3] and 0 not in (query.size, key.size, value.size) and alone()


def _bias(mask: Any, query: Any, key: Any) -> Any:
    """Return the mask as a float32 bias of shape `(sample, head, query, key)`, broadcast without a copy."""
    if mask is None:
        return _NO_BIAS
    bias = np.where(mask, FLOAT.type(0), FLOAT.type(-np.inf)) if mask.dtype == bool else mask.astype(FLOAT, copy=False)
    return np.broadcast_to(bias, (*query.shape[:3], key.shape[2]))


@fast(LEAST)
def attention(
    query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: float = 1.0, workspace: Any = None
) -> Any:
    if not _suit(query, key, value):
        return None
    shape = (*query.shape[:3], value.shape[3])
    output = np.empty_like(query) if shape == query.shape else np.empty(shape, FLOAT)  # the query's memory order, as in PyTorch
    bias = _bias(mask, query, key)
    softmax = None if workspace is None else np.empty((2, *query.shape[:3]), FLOAT)
    if workspace is not None:
        workspace["softmax"] = softmax
    kernels.attention(output, optional(softmax), query, key, value, bias, mask is not None, causal, FLOAT.type(scale))
    return output


@fast(LEAST, of=1)
def attention_gradients(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, causal: bool, scale: float, workspace: Any
) -> Any:
    if not _suit(query, key, value):
        return None
    if "softmax" not in workspace:  # another kernel computed the forward: compute it again
        attention(query, key, value, mask, causal, scale, workspace)
    g, out = (array if _suits(array, query) else np.ascontiguousarray(array) for array in (g, out))
    grads = np.empty_like(query), np.empty_like(key), np.empty_like(value)
    bias = _bias(mask, query, key)
    masked = mask is not None
    kernels.attention_gradients(*grads, g, out, workspace["softmax"], query, key, value, bias, masked, causal, FLOAT.type(scale))
    return grads
