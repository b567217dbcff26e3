"""Attention, one head of one sample at a time, so that its scores stay in the thread's cache."""

from __future__ import annotations

import numpy as np
from numba import float32, int64, prange, void

from . import compiled_for, inlined
from .matrix import multiply
from .rows import largest
from .scalar import exp_below, f32

_HEADS = float32[:, :, :, :]  # strided: queries, keys and values may be parts of one projection


@inlined
def _shares(scores, scale):
    """Softmax, row by row, in place."""
    for i in range(len(scores)):
        row, total = scores[i], f32(0)
        for j in range(len(row)):
            row[j] *= scale
        shift = largest(row)
        for j in range(len(row)):
            row[j] = exp_below(row[j] - shift)
            total += row[j]
        share = f32(1) / total
        for j in range(len(row)):
            row[j] *= share


@compiled_for(void(int64, _HEADS, _HEADS, _HEADS, _HEADS, float32))
def attention(gemm, out, query, key, value, scale):
    """Attention over arrays `(sample, head, position, feature)`."""
    heads = query.shape[1]
    for number in prange(len(query) * heads):
        n, h = number // heads, number % heads
        scores = np.empty((query.shape[2], key.shape[2]), f32)
        multiply(gemm, scores, query[n, h], False, key[n, h], True, f32(0))
        _shares(scores, scale)
        multiply(gemm, out[n, h], scores, False, value[n, h], False, f32(0))
