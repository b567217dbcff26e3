"""Attention and its gradients, without storing the full score matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import halves

from .choice import FLOAT, LEAST, fast
from .half_matrix import DTYPES, WORD
from .kernels import alone, kernels

MANY = LEAST or 1 << 12  # number of elements of the query from which `attention` is faster than NumPy
FEW_QUERIES, FEW_HALF_QUERIES = 8, 16  # maximum number of queries per head of `few_queries`

_NO_BIAS = np.zeros((1, 1, 1, 1), FLOAT)


def _suits(array: Any, like: Any) -> bool:
    """Whether the kernels support a 4-D array: float32, contiguous features, and the batch and heads of `like`."""
    comparable = array.ndim == 4 and array.dtype is FLOAT and array.shape[:2] == like.shape[:2]
    return comparable and array.strides[3] == 4 <= array.strides[2]


def _suit(query: Any, key: Any, value: Any) -> bool:
    fit = all(_suits(array, query) for array in (query, key, value)) and key.shape[2] == value.shape[2]
    return fit and key.shape[3] == query.shape[3] and 0 not in (query.size, key.size, value.size) and alone()


def attend_few(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> Any:
    """Compute attention of few queries in float32, float16 or bfloat16; None if the arrays do not suit."""
    dtype, (batch, heads, length, size) = query.dtype, query.shape
    for array in (query, key, value):
        if array.dtype != dtype or array.ndim != 4 or array.shape[:2] != (batch, heads):
            return None
        if array.strides[3] != dtype.itemsize or not array.size:
            return None
    if key.shape[3] != size or key.shape[2] != value.shape[2]:
        return None
    output = np.empty_like(query) if value.shape[3] == size else np.empty((batch, heads, length, value.shape[3]), dtype)
    bias, masked = _bias(mask, query, key), mask is not None
    if dtype is FLOAT:
        kernels.few_queries(output, query, key, value, bias, masked, causal, scale)
    else:
        words = [array.view(WORD) for array in (output, query, key, value)]
        kernels.half_few_queries(*words, bias, masked, causal, scale, DTYPES[dtype])
    return output


def _half_attention(
    query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: float = 1.0, workspace: Any = None
) -> Any:
    if query.ndim != 4 or query.shape[2] > FEW_HALF_QUERIES or workspace is not None:
        return None
    return attend_few(query, key, value, mask, causal, scale)


halves.LOOPS["attention"] = _half_attention


def _bias(mask: Any, query: Any, key: Any) -> Any:
    """Return the mask as a float32 bias of shape `(sample, head, query, key)`, broadcast without a copy."""
    if mask is None:
        return _NO_BIAS
    bias = np.where(mask, FLOAT.type(0), FLOAT.type(-np.inf)) if mask.dtype == bool else mask.astype(FLOAT, copy=False)
    return np.broadcast_to(bias, (*query.shape[:3], key.shape[2]))


@fast(1)
def attention(
    query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: float = 1.0, workspace: Any = None
) -> Any:
    if query.ndim == 4 and query.shape[2] <= FEW_QUERIES and workspace is None:
        return attend_few(query, key, value, mask, causal, scale)
    if query.size < MANY or not _suit(query, key, value):
        return None
    shape = (*query.shape[:3], value.shape[3])
    output = np.empty_like(query) if shape == query.shape else np.empty(shape, FLOAT)  # the query's memory order, as in PyTorch
    bias = _bias(mask, query, key)
    softmax = None if workspace is None else np.empty((2, *query.shape[:3]), FLOAT)
    if workspace is not None:
        workspace["softmax"] = softmax
    kernels.attention(output, softmax, query, key, value, bias, mask is not None, causal, FLOAT.type(scale))
    return output


@fast(1 << 12, of=1)
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
