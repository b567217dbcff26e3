"""Attention in blocks, so that the matrix of all scores is never stored.

Memory grows with the number of positions, not with its square, as in FlashAttention (Dao et al. 2022).  A block of the forward
has some queries and all keys, so that it needs no running maximum.  One of the backward has some keys and all queries, and
computes their weights again from the logarithms of the sums of exponentials, which the forward stores.

The product of a block is several small ones in one call of NumPy: OpenBLAS multiplies small matrices as they lie in memory, and
copies the operands of larger ones first, which takes as long as to multiply them where one side has few columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from math import inf, log, prod
from typing import Any

import numpy as np
from numpy.lib.introspect import opt_func_info

from .constants import number, ones
from .kernels import kernel
from .pieces import cache_size
from .quiet import quiet
from .threads import LARGE, get_num_threads, share

_AT_ONCE = 1 << 15  # scores up to which all are computed in one go, and the weights kept for the backward
_SMALL = 1_000_000  # multiplications up to which OpenBLAS copies no operands
_LEAST_ROWS, _MOST_ROWS = 4, 48  # of a small product; a large one has at least as many
_SAFE = 46.0  # magnitude up to which exponentials can be summed without overflow and with negligible underflow


@kernel
@quiet
def attention(
    query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: float = 1.0, workspace: Any = None
) -> Any:
    """`softmax(query @ key.T * scale + mask) @ value`; zeros for a query that may attend to nothing.

    `workspace` gets the weights if there are few, else the logarithms of the sums of exponentials.
    """
    length, seen, size = query.shape[-2], key.shape[-2], query.shape[-1]
    scores_of_all = prod(query.shape[:-1]) * seen
    if 0 < scores_of_all <= _AT_ONCE:
        return _attend_at_once(query, key, value, mask, causal, scale, workspace)
    # no score is larger than the product of norms (Cauchy and Schwarz), which is found sooner than the largest scores
    safe = (mask is None or mask.dtype == bool) and bool(_largest_norm(query) * _largest_norm(key) * abs(scale) < _SAFE)
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
@quiet
def attention_gradients(
    g: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, causal: bool, scale: float, workspace: Any
) -> tuple[Any, Any, Any]:
    """The gradients of query, key and value."""
    if "weights" not in workspace and "logarithms" not in workspace:  # another kernel was the forward
        attention(query, key, value, mask, causal, scale, workspace)
    if "weights" in workspace:
        return _gradients_at_once(g, query, key, value, out, scale, workspace["weights"])
    safe = workspace["safe"]
    exponential, _, unit = _exponential(query.dtype, safe)
    length, seen, size, value_size = query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1]
    queries, keys, slopes_of_results = _by_head(query), _by_head(key), _by_head(g)
    # one feature more makes the products differences: scores less logarithms, and slopes less their means
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
    """How many scores to compute at a time: of single precision, half of what a processor's own cache holds.

    Threads wait for Python's lock between calls into NumPy, which should therefore be long, even where that cache is small.
    """
    return min(max(cache_size() // 8, 1 << 17), 1 << 19)


class _Blocks:
    """How the scores of all heads, in `length` rows of `columns` each, are divided between threads and calls.

    A block is some rows of one head, or all of several heads, in pieces small enough for a product of that many features.
    """

    def __init__(self, heads: int, length: int, columns: int, features: int) -> None:
        self.heads, self.length, self.columns = heads, length, max(columns, 1)
        block = _block()
        small = _SMALL // (self.columns * max(features, 1))  # rows of a small product
        if small < min(_LEAST_ROWS, length):
            self.piece = min(length, max(_MOST_ROWS, block // self.columns))
        else:
            self.piece = length if small >= length else min(small, _MOST_ROWS) // _LEAST_ROWS * _LEAST_ROWS
        self.pieces = max(1, block // max(self.piece * self.columns, 1)) if self.piece < length else 1
        self.rows = min(self.piece * self.pieces, length)
        of_head = max(length * self.columns, 1)
        self.together = 1 if self.rows < length else min(max(1, block // of_head), max(-(-heads // get_num_threads()), 1))

    def share(self, compute: Callable[[slice], None]) -> None:
        """Call `compute` with slices of the heads; large work is shared between threads."""
        parts = [slice(i, min(i + self.together, self.heads)) for i in range(0, self.heads, self.together)]
        share(compute, parts, pays=self.heads * self.length * self.columns >= LARGE // 8)

    def of(self, heads: slice) -> Iterator[tuple[slice, tuple[int, int, int]]]:
        """For each block which rows it has, and their shape: heads, pieces, and rows of a piece."""
        start = 0
        while start < self.length:
            pieces, piece = min(self.pieces, (self.length - start) // self.piece), self.piece
            if not pieces:
                pieces, piece = 1, self.length - start
            yield slice(start, start + pieces * piece), (heads.stop - heads.start, pieces, piece)
            start += pieces * piece

    def memory(self, heads: slice, dtype: Any, vectors_of: int = 0) -> Any:
        """Memory for the scores of a block, or for a vector of a size for each column and piece."""
        of_head = self.pieces * vectors_of if vectors_of else self.rows
        return np.empty((heads.stop - heads.start) * of_head * self.columns, dtype)


def _array(memory: Any, *shape: int) -> Any:
    return memory[: prod(shape)].reshape(shape)


# --- masks and exponentials ---------------------------------------------------------------------------------------


def _hiding(query: Any, key: Any, mask: Any, causal: bool, blocks: _Blocks) -> Callable[..., None]:
    """A function that applies the mask to scores, or to exponentials by filling in 0, in place.

    It takes them as `(heads, queries, keys)`, what to fill in, and which heads, queries and keys they are.
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
    """NumPy's fastest exponential, the logarithm of the same base, and what scores are multiplied by for that base.

    Where NumPy has vectors of 512 bits, a power of two takes half the time, but ten times as long and more where it is subnormal
    or 0, as it may be for scores that are not safe. Elsewhere it is the C library's, element by element.
    """
    if not safe or sys.platform != "linux":
        return np.exp, np.log, 1.0
    kind = dtype.char * 2  # from floats to floats
    loops = opt_func_info(func_name="^exp2$").get("exp2", {})
    if kind in loops and ("V4" in loops[kind]["current"] or "AVX512" in loops[kind]["current"]):
        return np.exp2, np.log2, 1 / log(2)
    return np.exp, np.log, 1.0


def _sums(exponentials: Any) -> Any:
    """The sum of each row; 1 for a query that may attend to nothing."""
    columns = exponentials.shape[-1]
    sums = exponentials.reshape(-1, columns).dot(ones(columns, exponentials.dtype)).reshape(exponentials.shape[:-1])
    sums[sums == 0] = 1
    return sums


# --- layouts ------------------------------------------------------------------------------------------------------


def _by_head(array: Any) -> Any:
    """The array as `(all heads, position, feature)`, contiguous."""
    return np.ascontiguousarray(array).reshape(prod(array.shape[:-2]), *array.shape[-2:])


def _features_by_head(array: Any, more: int = 0) -> Any:
    """The array as `(all heads, feature, position)`, with room for some more features."""
    length, size = array.shape[-2:]
    result = np.empty((prod(array.shape[:-2]), size + more, length), array.dtype)
    result[:, :size] = _by_head(array).swapaxes(1, 2)
    return result


def _with_ones(by_head: Any) -> Any:
    result = np.ones((*by_head.shape[:2], by_head.shape[2] + 1), by_head.dtype)
    result[..., :-1] = by_head
    return result


def _largest_norm(array: Any) -> Any:
    """The largest Euclidean norm of a vector along the last dimension."""
    return np.sqrt(np.vecdot(array, array).max(initial=0))


def _like(array: Any, size: int) -> Any:
    """An empty array like another but for the last dimension; where that is equal in its memory order, as in PyTorch."""
    alike = array.ndim == 4 and array.shape[-1] == size and array.strides[-1] == array.itemsize
    return np.empty_like(array) if alike else np.empty((*array.shape[:-1], size), array.dtype)


def _in_order_of(array: Any, by_head: Any) -> Any:
    """The result in the shape of an array, but for the last dimension, and in the order of `_like`."""
    result = by_head.reshape(*array.shape[:-1], by_head.shape[-1])
    if array.flags.c_contiguous:
        return result
    ordered = _like(array, result.shape[-1])
    ordered[...] = result
    return ordered
