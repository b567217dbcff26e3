"""Losses `mse_loss`, `huber_loss` and `smooth_l1_loss`; embedding, dropout, im2col and col2im."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from flambeau.backend import memory_order
from flambeau.engine.calls.op import OPS

from . import conv_columns
from .chunks import in_chunk_pairs, map_chunks
from .constants import number
from .error_state import without_warnings
from .indices import as_intp
from .kernels import KERNELS, clip, kernel
from .namespace import namespace
from .random import Generator
from .row_sums import add_rows, place_largest
from .windows import Geometry, Sizes, inside, output_size, padded_size

_SMALL_SIZE = 1 << 9  # number of elements up to which working in chunks does not pay

# --- regression losses ---------------------------------------------------------------------------------------


@kernel
def mse_loss(input: Any, target: Any, reduction: str) -> Any:
    error = np.subtract(input, target)
    if reduction == "none":
        return np.square(error)
    size, dtype = error.size, error.dtype
    if not size:
        return dtype.type(np.nan if reduction == "mean" else 0)
    flat = error.ravel("K")
    if dtype.itemsize == 2:
        flat = flat.astype(np.float32)
    total = flat.dot(flat)
    loss = total / size if reduction == "mean" else total
    return loss if loss.dtype is dtype else loss.astype(dtype)


@kernel
def mse_loss_backward(g: Any, input: Any, target: Any, reduction: str) -> Any:
    error = np.asarray(np.subtract(input, target))  # np.subtract returns a scalar if both are 0-d
    if reduction == "none":
        scale = g * g.dtype.type(2)
    else:
        scale = np.array(g.item() * (2 / max(error.size, 1) if reduction == "mean" else 2), g.dtype)
    return np.multiply(error, scale, error)


def _huber(out: Any, x: Any, y: Any, edge: float, factor: float) -> None:
    """Write `factor * c * (error - c / 2)` with `error = abs(x - y)` and `c = min(error, edge)`: quadratic, then linear."""
    dtype = out.dtype
    np.abs(np.subtract(x, y, out), out)
    bounded = clip(np.empty_like(out), out, None, number(edge, dtype))
    half = np.multiply(bounded, number(0.5, dtype))
    np.multiply(np.subtract(out, half, out), bounded, out)
    if factor != 1:
        np.multiply(out, number(factor, dtype), out)


@without_warnings
def _huber_loss(input: Any, target: Any, reduction: str, edge: float, factor: float) -> Any:
    if reduction == "none":
        return in_chunk_pairs(lambda out, x, y: _huber(out, x, y, edge, factor), input, target)
    x, y = (array.reshape(-1) for array in np.broadcast_arrays(input, target))

    def add(chunk: slice) -> Any:
        losses = np.empty_like(x[chunk])
        _huber(losses, x[chunk], y[chunk], edge, factor)
        return np.add.reduce(losses)

    total = sum(map_chunks(add, x.size), np.float64(0))
    return np.divide(total, x.size if reduction == "mean" else 1).astype(x.dtype)


def _register_loss(name: str, factor: Callable[[float], float]) -> None:
    """Register a Huber-type loss; the forward is used for small arrays, and for half precision, which needs a wider sum."""
    forward = OPS[name].forward

    def loss(input: Any, target: Any, reduction: str, edge: float) -> Any:
        if 0 < input.size <= _SMALL_SIZE or input.dtype not in (np.float32, np.float64) or target.dtype != input.dtype:
            return forward(namespace, input, target, reduction, edge)
        return _huber_loss(input, target, reduction, edge, factor(edge))

    KERNELS[name] = loss


_register_loss("huber_loss", lambda edge: 1)
_register_loss("smooth_l1_loss", lambda edge: 1 / edge)


# --- embedding ----------------------------------------------------------------------------------------------------


@kernel
def embedding(weight: Any, indices: Any, padding_idx: int = -1, by_frequency: bool = False) -> Any:
    if indices.size and (indices.min() < 0 or indices.max() >= len(weight)):
        raise IndexError("index out of range in self")
    return weight.take(indices, 0)


@kernel
def sum_rows(input: Any, indices: Any, count: int) -> Any:
    sums = np.zeros((count, input.shape[-1]), input.dtype)
    flat = indices.reshape(-1)
    rows = input.reshape(len(flat), input.shape[-1])
    if (length := _length_of_runs(flat)) > 1:
        first = flat[0]
        np.add.reduce(
            rows.reshape(len(flat) // length, length, rows.shape[1]), 1, None, sums[first : first + len(flat) // length]
        )
    else:
        add_rows(sums, flat, rows)
    return sums


def _length_of_runs(numbers: Any) -> int:
    """Return the frequency of each number if the numbers are consecutive and equally frequent (bags of equal size), else 0."""
    if not numbers.size:
        return 0
    count = int(numbers[-1]) - int(numbers[0]) + 1
    if count < 1 or numbers.size % count:
        return 0
    length = numbers.size // count
    runs = numbers.reshape(count, length)
    return length if (runs == np.arange(runs[0, 0], runs[0, 0] + count, dtype=runs.dtype)[:, None]).all() else 0


@kernel
def largest_rows(input: Any, segments: Any, count: int) -> Any:
    """Return the maximum of each segment, a run of consecutive rows, by one `reduceat`."""
    largest = np.full((count, input.shape[1]), -np.inf, input.dtype)
    if segments.size:
        starts = np.flatnonzero(np.concatenate(([True], segments[1:] != segments[:-1])))
        largest[segments[starts]] = np.maximum.reduceat(input, starts, 0)
    return largest


@kernel
def places_of_largest(input: Any, bags: Any, count: int) -> Any:
    places = np.zeros((count, input.shape[1]), np.int64)
    place_largest(places, bags, input if input.dtype.itemsize > 2 else input.astype(np.float32))
    return places


@kernel
def index_frequencies(input: Any, indices: Any) -> Any:
    counts = np.bincount(as_intp(indices.reshape(-1)))
    return counts[indices][..., None].astype(input.dtype)


# --- windows ------------------------------------------------------------------------------------------------------


@kernel
def im2col(input: Any, window_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
    size = output_size(input.shape[2:], window_size, stride, padding, dilation)
    g = Geometry(len(input), (1, input.shape[1], *window_size), size, stride, padding, dilation)
    columns = conv_columns.unfold(input, g)[:, 0]
    return columns.copy() if np.may_share_memory(columns, input) else columns


@kernel
def col2im(input: Any, space: Sizes, window_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
    size = output_size(space, window_size, stride, padding, dilation)
    channels = input.shape[1] // prod(window_size)
    g = Geometry(len(input), (1, channels, *window_size), size, stride, padding, dilation)
    images = np.zeros((len(input), channels, *padded_size(space, padding)), input.dtype)
    conv_columns.fold(images, input.reshape(len(input), channels, *window_size, *size), g)
    return np.ascontiguousarray(images[inside(space, padding)])


@kernel
def fused_dropout(input: Any, keep: float, generator: Generator) -> tuple[Any, Any]:
    """Apply dropout; return the result and the scaled mask.  Random numbers are drawn in the input's memory order."""
    if input.flags.c_contiguous:
        noise = generator.bernoulli(input.shape, input.dtype, keep)
    else:
        order = memory_order(input.shape, input.strides)
        noise = generator.bernoulli([input.shape[dim] for dim in order], input.dtype, keep).transpose(np.argsort(order))
    return _dropped(input, noise, keep)


@without_warnings  # an error would make the caller compute the operation again, with other random numbers
def _dropped(input: Any, noise: Any, keep: float) -> tuple[Any, Any]:
    noise /= input.dtype.type(keep)
    return input * noise, noise
