"""Squared error, embedding, dropout, padding, unfolding and folding."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from flambeau.backend import memory_order

from . import conv_columns
from .kernels import kernel
from .layout import keeps_channels_last
from .pieces import wide
from .quiet import quiet
from .random import Generator
from .windows import Geometry, Sizes, inside, output_size, padded_size

# --- squared error ------------------------------------------------------------------------------------------------


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
@wide
def mse_loss_backward(g: Any, input: Any, target: Any, reduction: str) -> Any:
    error = np.asarray(np.subtract(input, target))  # np.subtract returns a scalar where both are 0-d
    if reduction == "none":
        scale = g * g.dtype.type(2)
    else:
        scale = np.array(g.item() * (2 / max(error.size, 1) if reduction == "mean" else 2), g.dtype)
    return np.multiply(error, scale, error)


# --- embedding ----------------------------------------------------------------------------------------------------


_AT_ONCE = 1 << 14  # elements whose places are computed at a time, so that these stay in the cache


@kernel
def embedding(weight: Any, indices: Any, padding_idx: int = -1, by_frequency: bool = False) -> Any:
    if indices.size and (indices.min() < 0 or indices.max() >= len(weight)):
        raise IndexError("index out of range in self")
    return weight.take(indices, 0)


@kernel
def sum_rows(input: Any, indices: Any, count: int) -> Any:
    """Sum the rows that have the same index, one after the other, as PyTorch does: the order decides on the last digit."""
    width = input.shape[-1]
    sums = np.zeros((count, width), input.dtype)
    rows, flat, columns = input.reshape(-1), indices.reshape(-1), np.arange(width)
    chunk = max(_AT_ONCE // max(width, 1), 1)
    for start in range(0, flat.size, chunk):
        first = flat[start : start + chunk, None].astype(np.intp) * width
        places = (first + columns).reshape(-1)  # of single elements: NumPy has a fast loop for those
        np.add.at(sums.reshape(-1), places, rows[start * width : (start + chunk) * width])
    return sums


@kernel
def largest_rows(input: Any, segments: Any, count: int) -> Any:
    """The segments are consecutive, so that each is one run of rows."""
    largest = np.full((count, input.shape[1]), -np.inf, input.dtype)
    if segments.size:
        starts = np.flatnonzero(np.concatenate(([True], segments[1:] != segments[:-1])))
        largest[segments[starts]] = np.maximum.reduceat(input, starts, 0)
    return largest


@kernel
def index_frequencies(input: Any, indices: Any) -> Any:
    counts = np.bincount(indices.reshape(-1))
    return counts[indices][..., None].astype(input.dtype)


# --- padding ------------------------------------------------------------------------------------------------------


@kernel
@keeps_channels_last
def constant_pad(input: Any, pad: Sequence[tuple[int, int]], value: Any = 0) -> Any:
    shape, kept, part = [], [], []
    for (before, after), length in zip(pad, input.shape, strict=True):
        first, last = max(-before, 0), length + min(after, 0)
        kept.append(slice(first, last))
        part.append(slice(max(before, 0), max(before, 0) + max(last - first, 0)))
        shape.append(length + before + after)
    inside = input[tuple(kept)]
    if all(before <= 0 and after <= 0 for before, after in pad):
        return inside.copy(order="K")
    output = np.empty(shape, input.dtype)
    output[tuple(part)] = inside
    for dim, (before, after) in enumerate(pad):  # the edges, in place of all of it: the inside is written once
        if before > 0:
            output[(*part[:dim], slice(0, before))] = value
        if after > 0:
            output[(*part[:dim], slice(-after, None))] = value
    return output


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
    """The result and the scaled mask; random numbers are drawn in the memory order of the input."""
    if input.flags.c_contiguous:
        noise = generator.bernoulli(input.shape, input.dtype, keep)
    else:
        order = memory_order(input.shape, input.strides)
        noise = generator.bernoulli([input.shape[dim] for dim in order], input.dtype, keep).transpose(np.argsort(order))
    return _dropped(input, noise, keep)


@quiet  # an error would make the caller compute the operation, and draw random numbers, a second time
def _dropped(input: Any, noise: Any, keep: float) -> tuple[Any, Any]:
    noise /= input.dtype.type(keep)
    return input * noise, noise
