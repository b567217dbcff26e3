"""Attention, a block of queries of one head at a time, so that its scores stay in the thread's cache."""

from __future__ import annotations

import numpy as np
from numba import boolean, float32, int64, prange, void

from . import compiled_for, inlined
from .matrix import multiply
from .rows import largest
from .scalar import exp_below, f32

_HEADS = float32[:, :, :, :]  # strided: queries, keys and values may be parts of one projection, and a bias be broadcast
_QUERIES = 32  # in a block


@inlined
def _weights(gemm, scores, queries, keys, bias, biased, start, causal, scale):
    """The softmax of the scores of a block whose first query is `start`; zeros where a row may see nothing."""
    multiply(gemm, scores, queries, False, keys, True, f32(0))
    for i in range(len(scores)):
        row, total = scores[i], f32(0)
        seen = min(len(row), start + i + 1) if causal else len(row)
        for j in range(seen):
            row[j] *= scale
        if biased:
            added = bias[i]
            for j in range(seen):
                row[j] += added[j]
        shift = largest(row[:seen])
        shift = f32(0) if shift == f32(-np.inf) else shift
        for j in range(seen):
            row[j] = exp_below(row[j] - shift)
            total += row[j]
        share = f32(1) if total == f32(0) else f32(1) / total
        for j in range(seen):
            row[j] *= share
        for j in range(seen, len(row)):
            row[j] = f32(0)


@compiled_for(void(int64, _HEADS, _HEADS, _HEADS, _HEADS, _HEADS, boolean, boolean, float32))
def attention(gemm, out, query, key, value, bias, biased, causal, scale):
    """Attention over arrays `(sample, head, position, feature)`."""
    heads, length, keys = query.shape[1], query.shape[2], key.shape[2]
    blocks = (length + _QUERIES - 1) // _QUERIES
    for number in prange(len(query) * heads * blocks):
        n, h, start = number // (heads * blocks), number // blocks % heads, number % blocks * _QUERIES
        stop = min(start + _QUERIES, length)
        seen = min(keys, stop) if causal else keys
        scores = np.empty((stop - start, seen), f32)
        added = bias[n, h, start:stop] if biased else bias[0, 0]
        _weights(gemm, scores, query[n, h, start:stop], key[n, h, :seen], added, biased, start, causal, scale)
        multiply(gemm, out[n, h, start:stop], scores, False, value[n, h, :seen], False, f32(0))


@compiled_for(void(int64, _HEADS, _HEADS, _HEADS, _HEADS, _HEADS, _HEADS, _HEADS, _HEADS, boolean, boolean, float32))
def attention_gradients(gemm, grad_query, grad_key, grad_value, g, query, key, value, bias, biased, causal, scale):
    """The gradients; those of keys and values are zeros before, as each block adds to them."""
    heads, length, keys = query.shape[1], query.shape[2], key.shape[2]
    for number in prange(len(query) * heads):
        n, h = number // heads, number % heads
        for start in range(0, length, _QUERIES):
            stop = min(start + _QUERIES, length)
            seen = min(keys, stop) if causal else keys
            weights, slopes = np.empty((stop - start, seen), f32), np.empty((stop - start, seen), f32)
            queries, g_rows = query[n, h, start:stop], g[n, h, start:stop]
            added = bias[n, h, start:stop] if biased else bias[0, 0]
            _weights(gemm, weights, queries, key[n, h, :seen], added, biased, start, causal, scale)
            multiply(gemm, slopes, g_rows, False, value[n, h, :seen], True, f32(0))
            for i in range(len(slopes)):
                row, shares, mean = slopes[i], weights[i], f32(0)
                for j in range(seen):
                    mean += row[j] * shares[j]
                for j in range(seen):
                    row[j] = (row[j] - mean) * shares[j] * scale
            multiply(gemm, grad_query[n, h, start:stop], slopes, False, key[n, h, :seen], False, f32(0))
            multiply(gemm, grad_key[n, h, :seen], slopes, True, queries, False, f32(1))
            multiply(gemm, grad_value[n, h, :seen], weights, True, g_rows, False, f32(1))
