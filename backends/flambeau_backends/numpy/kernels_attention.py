"""Attention in blocks, without storing the full score matrix.

Memory grows linearly with the number of positions, as in FlashAttention (Dao et al. 2022).  A forward block has some queries and
all keys, so that it needs no running maximum.  A backward block has some keys and all queries; it recomputes the attention
weights from the log-sum-exp that the forward stores.

A block's product is computed as several small ones in one NumPy call.  OpenBLAS multiplies small matrices in place, but copies
the operands of larger ones first, which takes as long as the product itself if one side has few columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from math import inf, log, prod
from typing import Any

import numpy as np
from numpy.lib.introspect import opt_func_info

from .chunks import cache_size
from .constants import number, ones
from .error_state import without_warnings
from .kernels import kernel
from .threads import LARGE, get_num_threads, share

_FEW_SCORES = 1 << 15  # up to this number of scores, attention is not split into blocks, and its weights are saved for backward
_FEW_QUERIES = 8  # up to this number of queries per head, the same: products read the keys once, without copying them
_SMALL = 1_000_000  # number of multiplications up to which OpenBLAS does not copy operands
_LEAST_ROWS, _MOST_ROWS = 4, 48  # minimum and maximum number of rows of a small product; large products have more
_EXP_LIMIT = 46.0  # magnitude of scores up to which exponentials are summed without overflow and with negligible underflow


@kernel
@without_warnings
def attention(
    query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: float = 1.0, workspace: Any = None
) -> Any:
    """Compute `softmax(query @ key.T * scale + mask) @ value`; the result is zero for fully masked queries.

    `workspace` receives values for the backward: the attention weights if there are few, else each row's log-sum-exp.
    """
    length, seen, size = query.shape[-2], key.shape[-2], query.shape[-1]
    scores_of_all = prod(query.shape[:-1]) * seen
    if scores_of_all > 0 and (scores_of_all <= _FEW_SCORES or length <= _FEW_QUERIES):
        return _attend_at_once(query, key, value, mask, causal, scale, workspace)
    # The norms bound the scores (Cauchy-Schwarz) and are cheaper to compute than the largest score.
    safe = (mask is None or mask.dtype == bool) and bool(_largest_norm(query) * _largest_norm(key) * abs(scale) < _EXP_LIMIT)
    exponential, logarithm, unit = _exponential(query.dtype, safe)
    queries, keys, values = _by_head(query * number(scale * unit, query.dtype)), _features_by_head(key), _by_head(value)
    output, logarithms = np.zeros((*queries.shape[:2], value.shape[-1]), query.dtype), np.zeros(queries.shape[:2], query.dtype)
    blocks = _Blocks(len(queries), length, seen, max(size, value.shape[-1]))
    hide = _hiding(query, key, mask, causal, blocks)

    def attend(heads: slice) -> None:
        memory = blocks.memory(heads, query.dtype)
        for rows, shape in blocks.of(heads):
            columns = slice(0, min(rows.stop, seen) if causal else seen)
            scores = _array(memory, *shape, columns.stop)
            np.matmul(queries[heads, rows].reshape(*shape, size), keys[heads, None, :, columns], scores)
            of_queries, peaks = scores.reshape(shape[0], -1, columns.stop), logarithms[heads, rows]
            if not safe:
                hide(of_queries, -inf, heads, rows, columns)
                of_queries.max(-1, initial=-inf, out=peaks)
                peaks[peaks == -inf] = 0
                np.subtract(of_queries, peaks[..., None], of_queries)
            exponential(scores, scores)
            if safe:
                hide(of_queries, 0, heads, rows, columns)
            sums, result = _sums(of_queries), output[heads, rows]
            np.matmul(scores, values[heads, None, columns], result.reshape(*shape, value.shape[-1]))
            np.divide(result, sums[..., None], result)
            peaks += logarithm(sums, sums)

    if scores_of_all:
        blocks.share(attend)
    if workspace is not None:
        workspace["logarithms"], workspace["safe"] = logarithms, safe
    return _in_order_of(query, output)


@kernel
@without_warnings
def attention_gradients(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, causal: bool, scale: float, workspace: Any
) -> tuple[Any, Any, Any]:
    """Return the gradients of attention with respect to query, key and value."""
    if "weights" not in workspace and "logarithms" not in workspace:  # the forward was computed by another kernel
        attention(query, key, value, mask, causal, scale, workspace)
    if "weights" in workspace:
        return _gradients_at_once(g, query, key, value, out, scale, workspace["weights"])
    safe = workspace["safe"]
    exponential, _, unit = _exponential(query.dtype, safe)
    length, seen, size, value_size = query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1]
    queries, keys, slopes_of_results = _by_head(query), _by_head(key), _by_head(g)
    # With one more feature, the matrix products compute differences: scores - log-sum-exp, and weight gradients - their means.
    query_features, g_features = _features_by_head(query, 1), _features_by_head(g, 1)
    query_features *= number(scale * unit, query.dtype)
    np.negative(workspace["logarithms"], query_features[:, size])
    np.negative(np.vecdot(slopes_of_results, _by_head(out)), g_features[:, value_size])
    keys_and_ones, values_and_ones = _with_ones(keys), _with_ones(_by_head(value))
    grad_query, grad_key = np.zeros_like(queries), np.zeros_like(keys)
    grad_value = np.zeros((*keys.shape[:2], value_size), query.dtype)
    blocks = _Blocks(len(queries), min(seen, length) if causal else seen, length, max(size, value_size) + 1)
    hide = _hiding(query, key, mask, causal, blocks)

    def attend(heads: slice) -> None:
        memory, memory_of_slopes, memory_of_products = (
            blocks.memory(heads, query.dtype, vectors_of) for vectors_of in (0, 0, size)
        )
        for rows, shape in blocks.of(heads):
            columns = slice(rows.start if causal else 0, length)
            count = columns.stop - columns.start
            weights, slopes = _array(memory, *shape, count), _array(memory_of_slopes, *shape, count)
            np.matmul(keys_and_ones[heads, rows].reshape(*shape, size + 1), query_features[heads, None, :, columns], weights)
            of_queries = weights.reshape(shape[0], -1, count).swapaxes(1, 2)
            if not safe:
                hide(of_queries, -inf, heads, columns, rows)
            exponential(weights, weights)
            if safe:
                hide(of_queries, 0, heads, columns, rows)
            np.matmul(values_and_ones[heads, rows].reshape(*shape, value_size + 1), g_features[heads, None, :, columns], slopes)
            np.multiply(slopes, weights, slopes)
            np.matmul(weights, slopes_of_results[heads, None, columns], grad_value[heads, rows].reshape(*shape, value_size))
            np.matmul(slopes, queries[heads, None, columns], grad_key[heads, rows].reshape(*shape, size))
            products = _array(memory_of_products, *shape[:2], count, size)
            np.matmul(slopes.swapaxes(2, 3), keys[heads, rows].reshape(*shape, size), products)
            grad_query[heads, columns] += products[:, 0] if shape[1] == 1 else np.add.reduce(products, 1)

    if len(queries) * length * seen:
        blocks.share(attend)
    for grad in (grad_query, grad_key):
        np.multiply(grad, number(scale, query.dtype), grad)
    return _in_order_of(query, grad_query), _in_order_of(key, grad_key), _in_order_of(value, grad_value)


# --- few scores ---------------------------------------------------------------------------------------------------


def _attend_at_once(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, workspace: Any) -> Any:
    weights = np.matmul(query * number(scale, query.dtype), key.swapaxes(-1, -2))
    if mask is not None:
        _hide(weights, -inf, mask)
    if causal:
        np.copyto(weights, -inf, where=np.tri(*weights.shape[-2:], dtype=bool).__invert__())
    peaks = weights.max(-1, keepdims=True)
    if mask is not None:
        peaks[peaks == -inf] = 0
    np.subtract(weights, peaks, weights)
    np.exp(weights, weights)
    np.divide(weights, _sums(weights)[..., None], weights)
    if workspace is not None:
        workspace["weights"] = weights
    return np.matmul(weights, value, _like(query, value.shape[-1]))


def _gradients_at_once(g: Any, query: Any, key: Any, value: Any, out: Any, scale: float, weights: Any) -> tuple[Any, Any, Any]:
    slopes = np.matmul(g, value.swapaxes(-1, -2))
    np.subtract(slopes, np.vecdot(g, out)[..., None], slopes)
    np.multiply(slopes, weights, slopes)
    np.multiply(slopes, number(scale, query.dtype), slopes)
    return (
        np.matmul(slopes, key, _like(query, query.shape[-1])),
        np.matmul(slopes.swapaxes(-1, -2), query, _like(key, key.shape[-1])),
        np.matmul(weights.swapaxes(-1, -2), g, _like(value, value.shape[-1])),
    )


# --- blocks -------------------------------------------------------------------------------------------------------


@cache
def _block() -> int:
    """Return the number of scores per block: in float32, half of the processor's L2 cache.

    It has a minimum because threads wait for the GIL between NumPy calls, which therefore should be long.
    """
    return min(max(cache_size() // 8, 1 << 17), 1 << 19)


class _Blocks:
    """Division of the scores of all heads, `length` rows of `columns` each, into blocks.

    A block consists of some rows of one head, or of all rows of several heads.  It is divided into chunks that are small enough
    for OpenBLAS's fast path, given the number of features.
    """

    def __init__(self, heads: int, length: int, columns: int, features: int) -> None:
        self.heads, self.length, self.columns = heads, length, max(columns, 1)
        block = _block()
        small = _SMALL // (self.columns * max(features, 1))  # rows of a small product
        if small < min(_LEAST_ROWS, length):
            self.chunk = min(length, max(_MOST_ROWS, block // self.columns))
        else:
            self.chunk = length if small >= length else min(small, _MOST_ROWS) // _LEAST_ROWS * _LEAST_ROWS
        self.chunks = max(1, block // max(self.chunk * self.columns, 1)) if self.chunk < length else 1
        self.rows = min(self.chunk * self.chunks, length)
        per_head = max(length * self.columns, 1)
        self.together = 1 if self.rows < length else min(max(1, block // per_head), max(-(-heads // get_num_threads()), 1))

    def share(self, compute: Callable[[slice], None]) -> None:
        """Call `compute` with slices of heads; large work is split between threads."""
        parts = [slice(i, min(i + self.together, self.heads)) for i in range(0, self.heads, self.together)]
        share(compute, parts, pays=self.heads * self.length * self.columns >= LARGE // 8)

    def of(self, heads: slice) -> Iterator[tuple[slice, tuple[int, int, int]]]:
        """Yield the rows of each block, and their shape `(heads, chunks, rows per chunk)`."""
        start = 0
        while start < self.length:
            chunks, chunk = min(self.chunks, (self.length - start) // self.chunk), self.chunk
            if not chunks:
                chunks, chunk = 1, self.length - start
            yield slice(start, start + chunks * chunk), (heads.stop - heads.start, chunks, chunk)
            start += chunks * chunk

    def memory(self, heads: slice, dtype: Any, vectors_of: int = 0) -> Any:
        """Allocate memory for the scores of a block; if `vectors_of` is given, for a vector of that size per column and chunk."""
        per_head = self.chunks * vectors_of if vectors_of else self.rows
        return np.empty((heads.stop - heads.start) * per_head * self.columns, dtype)


def _array(memory: Any, *shape: int) -> Any:
    return memory[: prod(shape)].reshape(shape)


# --- masks and exponentials ---------------------------------------------------------------------------------------


def _hiding(query: Any, key: Any, mask: Any, causal: bool, blocks: _Blocks) -> Callable[..., None]:
    """Return a function that masks scores with `-inf`, or exponentials with 0, in place.

    Its arguments are an array `(heads, queries, keys)`, the fill value, and the slices of heads, queries and keys that the
    array covers.
    """
    later = np.tri(blocks.rows, dtype=bool).__invert__() if causal else None
    lead, whole = query.shape[:-2], None if mask is None else np.broadcast_to(mask, (*query.shape[:-1], key.shape[-2]))

    def hide(scores: Any, fill: float, heads: slice, rows: slice, columns: slice) -> None:
        if whole is not None:
            for scores_of_head, head in zip(scores, range(heads.start, heads.stop), strict=True):
                _hide(scores_of_head, fill, whole[np.unravel_index(head, lead)][rows, columns])
        if later is not None and rows.start < columns.stop:
            corner = scores[:, : columns.stop - rows.start, rows.start - columns.start :]
            np.copyto(corner, fill, where=later[: corner.shape[1], : corner.shape[2]])

    return hide


def _hide(scores: Any, fill: float, mask: Any) -> None:
    if mask.dtype == bool:
        np.copyto(scores, fill, where=~mask)
    else:
        np.add(scores, mask, scores)


@cache
def _exponential(dtype: Any, safe: bool) -> tuple[Callable[..., Any], Callable[..., Any], float]:
    """Return NumPy's fastest exponential, the logarithm of the same base, and the factor that converts scores to that base.

    With 512-bit vectors, NumPy's exp2 takes half the time of exp, but at least ten times as long for subnormal or zero
    results, which scores of large magnitude produce (`safe` is False). Without such vectors, exp2 calls the C library for each
    element.
    """
    if not safe or sys.platform != "linux":
        return np.exp, np.log, 1.0
    kind = dtype.char * 2  # a loop from float to float
    loops = opt_func_info(func_name="^exp2$").get("exp2", {})
    if kind in loops and ("V4" in loops[kind]["current"] or "AVX512" in loops[kind]["current"]):
        return np.exp2, np.log2, 1 / log(2)
    return np.exp, np.log, 1.0


def _sums(exponentials: Any) -> Any:
    """Return the sum of each row of exponentials, with 1 in place of 0 (a fully masked query)."""
    columns = exponentials.shape[-1]
    sums = exponentials.reshape(-1, columns).dot(ones(columns, exponentials.dtype)).reshape(exponentials.shape[:-1])
    sums[sums == 0] = 1
    return sums


# --- layouts ------------------------------------------------------------------------------------------------------


def _by_head(array: Any) -> Any:
    """Return the array as `(batch * heads, position, feature)`, contiguous."""
    return np.ascontiguousarray(array).reshape(prod(array.shape[:-2]), *array.shape[-2:])


def _features_by_head(array: Any, more: int = 0) -> Any:
    """Return the array as `(batch * heads, feature, position)`, with `more` uninitialized features at the end."""
    length, size = array.shape[-2:]
    result = np.empty((prod(array.shape[:-2]), size + more, length), array.dtype)
    result[:, :size] = _by_head(array).swapaxes(1, 2)
    return result


def _with_ones(by_head: Any) -> Any:
    result = np.ones((*by_head.shape[:2], by_head.shape[2] + 1), by_head.dtype)
    result[..., :-1] = by_head
    return result


def _largest_norm(array: Any) -> Any:
    """Return the largest Euclidean norm of the vectors along the last dimension."""
    return np.sqrt(np.vecdot(array, array).max(initial=0))


def _like(array: Any, size: int) -> Any:
    """Return an empty array like `array` with last dimension `size`; as in PyTorch, in the same memory order if `size` agrees."""
    alike = array.ndim == 4 and array.shape[-1] == size and array.strides[-1] == array.itemsize
    return np.empty_like(array) if alike else np.empty((*array.shape[:-1], size), array.dtype)


def _in_order_of(array: Any, by_head: Any) -> Any:
    """Reshape a result `(batch * heads, position, feature)` like `array`, with the memory order of `_like`."""
    result = by_head.reshape(*array.shape[:-1], by_head.shape[-1])
    if array.flags.c_contiguous:
        return result
    ordered = _like(array, result.shape[-1])
    ordered[...] = result
    return ordered
