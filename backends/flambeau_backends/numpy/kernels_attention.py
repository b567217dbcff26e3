"""Attention in blocks of queries, so that the matrix of all scores is never stored.

Memory grows with the number of positions, not with its square, as in FlashAttention (Dao et al. 2022).  A block has all keys
of its queries, so that it needs no running maximum; the backward computes the weights again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, prod
from typing import Any

import numpy as np

from .kernels import kernel
from .kernels_softmax import row_sums
from .quiet import quiet
from .threads import LARGE, share

_BLOCK = 1 << 15  # scores at a time
_LEAST_ROWS = 32  # queries in a block, however many keys there are: fewer make slow products
_SAFE = 46.0  # magnitude up to which exponentials can be summed without overflow and with negligible underflow


@kernel
@quiet
def attention(query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: float = 1.0) -> Any:
    """`softmax(query @ key.T * scale + mask) @ value`; zeros for a query that may attend to nothing."""
    scores, values = _Scores(query, key, mask, causal, scale), _by_head(value)
    output = np.empty((*scores.query.shape[:2], value.shape[-1]), query.dtype)

    def attend(heads: slice) -> None:
        for rows, keys, weights in scores.blocks(heads):
            sums = scores.exponentials(weights)
            result = np.matmul(weights, values[heads, :keys], output[heads, rows])
            np.divide(result, sums, result)

    scores.each(attend)
    return _in_order_of(query, output)


@kernel
@quiet
def attention_gradients(
    g: Any, query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: float = 1.0
) -> tuple[Any, Any, Any]:
    """The gradients of query, key and value."""
    scores, keys_by_head, g_by_head = _Scores(query, key, mask, causal, scale), _by_head(key), _by_head(g)
    values = np.ascontiguousarray(_by_head(value).swapaxes(1, 2))
    grads = grad_query, grad_key, grad_value = (
        np.empty_like(scores.query),
        np.zeros_like(keys_by_head),
        np.zeros_like(_by_head(value)),
    )

    def attend(heads: slice) -> None:
        memory = scores.memory(heads)
        for rows, keys, weights in scores.blocks(heads):
            sums = scores.exponentials(weights)
            g_rows = g_by_head[heads, rows] / sums  # rather than dividing the weights, of which there are more
            slopes = np.matmul(g_rows, values[heads, :, :keys], memory[: weights.size].reshape(weights.shape))
            np.subtract(slopes, np.vecdot(slopes, weights)[..., None] / sums, slopes)
            np.multiply(slopes, weights, slopes)
            np.matmul(slopes, keys_by_head[heads, :keys], grad_query[heads, rows])
            grad_key[heads, :keys] += np.matmul(slopes.swapaxes(1, 2), scores.query[heads, rows])
            grad_value[heads, :keys] += np.matmul(weights.swapaxes(1, 2), g_rows)

    scores.each(attend)
    np.multiply(grad_query, scores.scale, grad_query)
    return tuple(_in_order_of(array, grad) for array, grad in zip((query, key, value), grads, strict=True))


class _Scores:
    """How well the keys of each head match its queries: a block of queries at a time, or several heads where there are few."""

    def __init__(self, query: Any, key: Any, mask: Any, causal: bool, scale: float) -> None:
        self.scale = query.dtype.type(scale)
        self.query, self.keys = _by_head(query * self.scale), np.ascontiguousarray(_by_head(key).swapaxes(1, 2))
        self.heads, self.length, self.seen = len(self.query), query.shape[-2], key.shape[-2]
        self.lead, self.mask = query.shape[:-2], None if mask is None else np.broadcast_to(mask, (*query.shape[:-1], self.seen))
        # no score is larger than the product of norms (Cauchy and Schwarz), which is found sooner than the largest scores
        self.are_safe = bool(_largest_norm(self.query) * _largest_norm(_by_head(key)) < _SAFE) and (
            mask is None or mask.dtype == bool
        )
        of_head = max(self.length * self.seen, 1)
        self.together = min(max(1, _BLOCK // of_head), max(self.heads, 1))
        self.rows = self.length if of_head <= _BLOCK else min(max(_LEAST_ROWS, _BLOCK // self.seen), self.length)
        self.future = np.tri(self.rows, dtype=bool).__invert__() if causal else None

    def each(self, compute: Callable[[slice], None]) -> None:
        """Call `compute` with slices of the heads; large work is shared between threads."""
        parts = [slice(i, min(i + self.together, self.heads)) for i in range(0, self.heads, self.together)]
        share(compute, parts, pays=self.heads * self.length * self.seen >= LARGE // 8)

    def memory(self, heads: slice) -> Any:
        """Memory for a block of some heads."""
        return np.empty((heads.stop - heads.start) * self.rows * self.seen, self.query.dtype)

    def blocks(self, heads: slice) -> Iterator[tuple[slice, int, Any]]:
        """For each block of queries: which they are, how many keys they may see, and the scores `(heads, queries, keys)`."""
        memory = self.memory(heads)
        for start in range(0, self.length, max(self.rows, 1)):
            rows = slice(start, min(start + self.rows, self.length))
            seen = self.seen if self.future is None else min(rows.stop, self.seen)
            shape = heads.stop - heads.start, rows.stop - start, seen
            scores = np.matmul(self.query[heads, rows], self.keys[heads, :, :seen], memory[: prod(shape)].reshape(shape))
            if self.mask is not None:
                for scores_of_head, head in zip(scores, range(heads.start, heads.stop), strict=True):
                    _apply(scores_of_head, self.mask[np.unravel_index(head, self.lead)][rows, :seen])
            if self.future is not None and seen > start:
                np.copyto(scores[..., start:], -inf, where=self.future[: shape[1], : seen - start])
            yield rows, seen, scores

    def exponentials(self, scores: Any) -> Any:
        """Replace each row of scores by exponentials; returns their sums, with a last dimension of 1: 1 where all is masked."""
        if not self.are_safe:
            peaks = scores.max(-1, keepdims=True, initial=-inf)
            peaks[peaks == -inf] = 0
            np.subtract(scores, peaks, scores)
        np.exp(scores, scores)
        sums = row_sums(scores.reshape(-1, scores.shape[-1])) if scores.size else np.zeros(prod(scores.shape[:-1]), scores.dtype)
        sums[sums == 0] = 1
        return sums.reshape(*scores.shape[:-1], 1)


def _apply(scores: Any, mask: Any) -> None:
    if mask.dtype == bool:
        np.copyto(scores, -inf, where=~mask)
    else:
        np.add(scores, mask, scores)


def _largest_norm(array: Any) -> Any:
    """The largest Euclidean norm of a vector along the last dimension."""
    return np.sqrt(np.vecdot(array, array).max(initial=0))


def _by_head(array: Any) -> Any:
    """The array as `(all heads, position, feature)`."""
    return array.reshape(prod(array.shape[:-2]), *array.shape[-2:])


def _in_order_of(array: Any, result: Any) -> Any:
    """The result in the shape of an array, but for the last dimension; where that is equal in its memory order, as in PyTorch."""
    shape = (*array.shape[:-1], result.shape[-1])
    if array.ndim != 4 or array.shape != shape or array.strides[-1] != array.itemsize or array.flags.c_contiguous:
        return result.reshape(shape)
    ordered = np.empty_like(array)
    ordered[...] = result.reshape(shape)
    return ordered
