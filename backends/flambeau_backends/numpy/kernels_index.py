"""Indexing, joining and expanding, with less overhead than NumPy's functions on small arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from flambeau.backend import contiguous_strides
from flambeau.engine.calls.op import OPS

from .chunks import CHUNK, chunks
from .error_state import without_warnings
from .indices import as_intp
from .kernels import KERNELS, accumulation_copy, in_place, is_half, kernel
from .layout import in_rows
from .namespace import namespace

__all__ = ["SMALL", "elements"]

SMALL = 1 << 12  # maximum number of indices whose flat positions are cached


# --- views --------------------------------------------------------------------------------------------------------


@kernel
def unsqueeze(input: Any, dim: int) -> Any:
    return input[(slice(None),) * dim + (None,)]


@kernel
def expand(input: Any, shape: tuple[int, ...]) -> Any:
    """Like `np.broadcast_to`, but faster for contiguous memory."""
    if prod(shape) == input.size:  # no element is repeated: the view may be writable
        return input.reshape(shape)
    input_shape = input.shape
    if input_shape and not input.flags.c_contiguous:
        return np.broadcast_to(input, shape)
    strides = [0 if n == 1 else stride for n, stride in zip(input_shape, input.strides, strict=True)] if input_shape else ()
    result = np.ndarray(shape, input.dtype, input, 0, (*(0,) * (len(shape) - len(input_shape)), *strides))
    result.setflags(write=False)  # read-only like broadcast_to's result: a write would change several elements
    return result


# --- joining ------------------------------------------------------------------------------------------------------


@kernel
def stack(*arrays: Any, dim: int = 0) -> Any:
    if dim == 0 and arrays[0].size:  # np.array accepts empty arrays of different shapes
        return np.array(arrays)
    added = (slice(None),) * dim + (None,)
    return np.concatenate([array[added] for array in arrays], dim)


# --- along a dimension --------------------------------------------------------------------------------------------


def _extreme(name: str, find: str, reduce: Callable[..., Any]) -> None:
    def extreme(input: Any, dim: int, keepdim: bool = False) -> Any:
        if not input.ndim:
            return OPS[name].forward(namespace, input, dim, keepdim)
        return in_rows(reduce(input, dim, None, None, keepdim)), getattr(input, find)(dim, keepdims=keepdim)

    KERNELS[name] = extreme


_extreme("max_dim", "argmax", np.maximum.reduce)
_extreme("min_dim", "argmin", np.minimum.reduce)


def _starts(shape: tuple[int, ...], array_shape: tuple[int, ...], dim: int) -> Any:
    """Return flat positions, in a contiguous array, of the elements with index 0 along `dim`.

    There is one position for each index into the other dimensions of `shape`, which is the shape of the index array.
    """
    starts: Any = np.zeros((1,) * len(shape), np.intp)
    for axis, (length, stride) in enumerate(zip(shape, contiguous_strides(array_shape), strict=True)):
        if axis != dim:
            starts = starts + (np.arange(length) * stride).reshape([length if i == axis else 1 for i in range(len(shape))])
    return starts


@lru_cache(64)
def _cached_starts(shape: tuple[int, ...], array_shape: tuple[int, ...], dim: int) -> tuple[Any, int]:
    """Return `_starts` copied to the full shape, which is faster to add than to broadcast, and the stride of `dim`."""
    return np.broadcast_to(_starts(shape, array_shape, dim), shape).copy(), prod(array_shape[dim + 1 :])


def _flat_positions(array: Any, index: Any, dim: int) -> Any:
    """Return flat positions, in a contiguous array, of the elements that `index` selects along `dim`."""
    if index.size <= SMALL:
        starts, stride = _cached_starts(index.shape, array.shape, dim)
    else:
        starts, stride = _starts(index.shape, array.shape, dim), prod(array.shape[dim + 1 :])
    return np.add(index, starts) if stride == 1 else np.multiply(index, stride, dtype=np.intp) + starts


def elements(input: Any, index: Any, dim: int) -> Any:
    """Like `np.take_along_axis`, but with a single index into the flattened array."""
    if not input.flags.c_contiguous:
        return OPS["gather_along"].forward(namespace, input, index, dim)
    return input.take(_flat_positions(input, index, dim) if input.ndim > 1 else index)


_UNSIGNED = {np.dtype(np.int64): np.dtype(np.uint64), np.dtype(np.int32): np.dtype(np.uint32)}


def _check_bounds(index: Any, length: int, dim: int) -> None:
    seen = index.view(_UNSIGNED[index.dtype])  # as unsigned integers, negative numbers are larger than any length
    worst = seen.argmax()
    if seen.item(worst) >= length:
        raise RuntimeError(f"index {index.item(worst)} is out of bounds for dimension {dim} with size {length}")


def _indices_by_chunk(array: Any, index: Any, dim: int) -> Iterator[tuple[Any, Any]]:
    """Yield slices of the index's first dimension, each with the flat positions that it selects."""
    if index.size <= CHUNK:
        yield slice(None), _flat_positions(array, index, dim)
        return
    starts, stride = _starts(index.shape, array.shape, dim), prod(array.shape[dim + 1 :])
    for chunk in chunks(len(index), prod(index.shape[1:])):
        part = index[chunk] if stride == 1 else np.multiply(index[chunk], stride, dtype=np.intp)
        yield chunk, np.add(part, starts[chunk] if len(starts) > 1 else starts)


@kernel
def gather_along(input: Any, index: Any, dim: int) -> Any:
    if index.size <= CHUNK or not input.flags.c_contiguous:
        if index.size:
            _check_bounds(index, input.shape[dim], dim)
        return elements(input, index, dim)
    result, flat = np.empty(index.shape, input.dtype), input.reshape(-1)
    for chunk, places in _indices_by_chunk(input, index, dim):
        _check_bounds(index[chunk], input.shape[dim], dim)
        flat.take(places, None, result[chunk], "clip")  # "clip" avoids the buffer that "raise" uses; bounds are already checked
    return result


def _scatter(target: Any, src: Any, index: Any, dim: int) -> None:
    flat, terms = target.reshape(-1), src[tuple(map(slice, index.shape))]
    for chunk, places in _indices_by_chunk(target, index, dim):
        flat[places] = terms[chunk]


def _scatter_add(target: Any, src: Any, index: Any, dim: int) -> None:
    flat, terms = target.reshape(-1), src[tuple(map(slice, index.shape))]
    for chunk, places in _indices_by_chunk(target, index, dim):
        np.add.at(flat, places.reshape(-1), terms[chunk].reshape(-1))  # `np.add.at` is many times faster on vectors


@kernel
def scatter_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    result = input.copy()
    _scatter(result, src, index, dim)
    return result


@in_place
def scatter_along_(target: Any, src: Any, index: Any, dim: int) -> None:
    _require_flat(target)
    _scatter(target, src, index, dim)


@kernel
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    result = np.ascontiguousarray(accumulation_copy(input))
    _scatter_add(result, src, index, dim)
    return result.astype(input.dtype, copy=False)


@in_place
@without_warnings
def scatter_add_along_(target: Any, src: Any, index: Any, dim: int) -> None:
    _require_flat(target)
    if is_half(target):
        raise NotImplementedError("the sums of half-precision numbers are rounded once")
    _scatter_add(target, src, index, dim)


_REDUCTIONS = {"mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _scatter_reduce(target: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool, neutral: Any) -> None:
    flat, terms = target.reshape(-1), src[tuple(map(slice, index.shape))]
    reduce_at = _REDUCTIONS[reduce].at
    if not include_self:
        for _, places in _indices_by_chunk(target, index, dim):
            flat[places] = neutral
    for chunk, places in _indices_by_chunk(target, index, dim):
        reduce_at(flat, places.reshape(-1), terms[chunk].reshape(-1))
    if reduce == "mean":
        places = _flat_positions(target, index, dim).reshape(-1)
        if flat.size <= 4 * places.size:  # counting all positions is faster than sorting
            count = np.bincount(places, minlength=flat.size)
            written = count.nonzero()[0]
            count = count[written]
        else:
            written, count = np.unique(places, return_counts=True)
        divide = np.floor_divide if target.dtype.kind in "iu" else np.divide
        flat[written] = divide(flat[written], (count + int(include_self)).astype(target.dtype))


@kernel
@without_warnings
def scatter_reduce_along(input: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool, neutral: Any) -> Any:
    result = np.ascontiguousarray(accumulation_copy(input))
    _scatter_reduce(result, src.astype(result.dtype, copy=False), index, dim, reduce, include_self, neutral)
    return result.astype(input.dtype, copy=False)


@in_place
@without_warnings
def scatter_reduce_along_(target: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool, neutral: Any) -> None:
    _require_flat(target)
    if is_half(target):
        raise NotImplementedError("half-precision numbers are rounded once")
    _scatter_reduce(target, src, index, dim, reduce, include_self, neutral)


def _require_flat(target: Any) -> None:
    """Raise ValueError unless `target.reshape(-1)` is a writable view."""
    if not (target.flags.c_contiguous and target.flags.writeable):
        raise ValueError("the array is read-only or not contiguous")


@kernel
def repeated_positions(repeats: Any, total: int) -> Any:
    return np.arange(len(repeats), dtype=repeats.dtype).repeat(as_intp(repeats))
