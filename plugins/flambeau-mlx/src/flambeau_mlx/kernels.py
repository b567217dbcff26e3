"""Kernels for which MLX's functions are faster than the array API's: indexing, assignment and convolution."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import mlx.core as mx
import numpy

from flambeau.extension import Kernels, forward_of

from . import namespace

__all__ = ["KERNELS"]

Sizes = Sequence[int]
KERNELS = kernel = Kernels()


# --- indices ------------------------------------------------------------------------------------------------------


def _is_array(item: Any) -> bool:
    return isinstance(item, mx.array)


def _has_arrays(index: Any) -> bool:
    return any(map(_is_array, index)) if isinstance(index, tuple) else _is_array(index)


def _flat_places(shape: tuple[int, ...], index: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the flat positions of the indexed elements, and the result's shape.  Raise IndexError for indices out of bounds."""
    items = index if isinstance(index, tuple) else (index,)
    on_host = tuple([numpy.asarray(item) if _is_array(item) else item for item in items])
    if (
        len(on_host) == 1 and _is_array(items[0]) and on_host[0].dtype != bool and on_host[0].ndim
    ):  # a single integer array selects rows, as in an embedding
        rows, length, width = on_host[0].astype(numpy.int64), shape[0], prod(shape[1:])
        if rows.size and (rows.min() < -length or rows.max() >= length):
            raise IndexError(f"index {rows.max()} is out of bounds for axis 0 with size {length}")
        found = (rows % max(length, 1) * width)[..., None] + numpy.arange(width)
        return mx.array(found.reshape(-1)), (*rows.shape, *shape[1:])
    found = numpy.arange(prod(shape)).reshape(shape)[on_host]
    return mx.array(found.reshape(-1)), found.shape


@kernel
def index(input: Any, index: Any) -> Any:
    if not _has_arrays(index):
        return _element(input, index)
    places, shape = _flat_places(input.shape, index)
    if not places.size:
        return mx.zeros(shape, input.dtype)
    return input.reshape(-1)[places].reshape(shape)


def _element(input: Any, index: Any) -> Any:
    """Index with integers and slices; NumPy checks the bounds, because MLX does not."""
    numpy.broadcast_to(numpy.int8(0), input.shape)[index]
    return input[index]


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    places, shape = _flat_places(input.shape, index)
    value = numpy_like_broadcast(value, shape)
    if not places.size:
        return input
    flat = mx.array(input).reshape(-1)
    flat[places] = value.reshape(-1)
    return flat.reshape(input.shape)


def numpy_like_broadcast(value: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast the value to `shape`, dropping surplus leading dimensions of length 1, as in NumPy's assignments."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    return mx.broadcast_to(value, shape)


@kernel
def index_backward(input: Any, shape: Any, index: Any) -> Any:
    return index_put_add(mx.zeros(tuple(shape), input.dtype), input, index)


KERNELS["getitem_backward"] = index_backward


@kernel
def index_put_add(input: Any, values: Any, index: Any) -> Any:
    places, shape = _flat_places(input.shape, index)
    if not places.size:
        return input
    return input.reshape(-1).at[places].add(mx.broadcast_to(values, shape).reshape(-1)).reshape(input.shape)


@kernel
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    if not index.size:
        return input
    where = [mx.arange(n).reshape([-1 if i == d else 1 for i in range(index.ndim)]) for d, n in enumerate(index.shape)]
    where[dim] = index
    return input.at[tuple(where)].add(src[tuple(slice(0, length) for length in index.shape)])


# --- convolution: MLX stores channels last ------------------------------------------------------------------------


@kernel
def convolution(
    input: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, workspace: Any = None
) -> Any:
    serves = mx.issubdtype(input.dtype, mx.floating) and input.size and (input.ndim < 5 or groups == 1)
    if not serves or mx.default_device() == mx.cpu:  # on the CPU, the array-API forward is faster
        return forward_of("convolution")(namespace, input, weight, bias, stride, padding, dilation, groups)
    image, filters = mx.moveaxis(input, 1, -1), mx.moveaxis(weight, 1, -1)
    options = {"stride": list(stride), "padding": list(padding), "kernel_dilation": list(dilation), "groups": groups}
    output = mx.moveaxis(mx.conv_general(image, filters, **options), -1, 1)
    return output if bias is None else output + bias.reshape(-1, *(1,) * (input.ndim - 2))
