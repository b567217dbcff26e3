"""Kernels for views, copies, indexing and scattering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import cupyx
import numpy as np

from flambeau.engine.calls.op import OPS
from flambeau.engine.values.constants import preserve_format

from .kernels import KERNELS, dense, kernel
from .namespace import xp

__all__ = ["index", "index_backward", "scatter_add_along"]

Sizes = Sequence[int]


# --- views and copies ---------------------------------------------------------------------------------------------


@kernel
def permute(input: Any, dims: Sizes) -> Any:
    return input.transpose(dims)


@kernel
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    return input.swapaxes(dim0, dim1)


@kernel
def expand(input: Any, shape: Sizes) -> Any:
    return cupy.broadcast_to(input, shape)


@kernel
def contiguous(input: Any) -> Any:
    return dense(input)


@kernel
def reshape(input: Any, shape: Sizes) -> Any:
    return input.reshape(shape)


@kernel
def view(input: Any, shape: Sizes) -> Any:
    result = input.reshape(shape)
    if result.size and result.data.ptr != input.data.ptr:
        raise ValueError(f"cannot view an array of shape {input.shape} as {tuple(shape)} without a copy")
    return result


@kernel
def t(input: Any) -> Any:
    return input.T


@kernel
def diagonal(input: Any, offset: int, dim1: int, dim2: int) -> Any:
    return cupy.diagonal(input, offset, dim1, dim2)


@kernel
def view_as_real(input: Any) -> Any:
    return input[..., None].view(input.real.dtype)


@kernel
def view_as_complex(input: Any) -> Any:
    return input.view(np.complex128 if input.dtype == np.float64 else np.complex64)[..., 0]


KERNELS["pairs_of_complex"] = view_as_real


@kernel
def view_scatter(input: Any, value: Any, view: str, params: tuple[Any, ...]) -> Any:
    if view in ("conj_view", "neg_view"):  # lazy views: the memory stores the values before conjugation or negation
        return OPS[view].forward(xp, value)
    if view == "as_strided":  # indexes the original memory, which the copy does not share
        return OPS["view_scatter"].forward(xp, input, value, view, params)
    result = input.copy()
    shown = KERNELS[view](result, *params) if view in KERNELS else OPS[view].forward(xp, result, *params)
    shown[...] = value
    return result


@kernel
def clone(input: Any, memory_format: Any = None) -> Any:
    if memory_format is None or memory_format is preserve_format:
        return input.copy(order="K")
    order = memory_format.order(input.ndim)
    return input.transpose(order).copy().transpose(tuple(np.argsort(order)))


# --- indexing -----------------------------------------------------------------------------------------------------


@kernel
def index(input: Any, index: Any) -> Any:
    return input[index]


for _name in ("select", "slice", "unsqueeze", "alias"):
    KERNELS[f"getitem_{_name}"] = index


@kernel
def getitem_backward(input: Any, shape: Sizes, index: Any) -> Any:
    grad_input = cupy.zeros(shape, input.dtype)
    grad_input[index] = input
    return grad_input


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    result = input.copy()
    result[index] = value
    return result


@kernel
def pad_to(input: Any, shape: Sizes) -> Any:
    return input if input.shape == tuple(shape) else getitem_backward(input, shape, tuple(map(slice, input.shape)))


# --- scattering ---------------------------------------------------------------------------------------------------


def _add_at(target: Any, index: Any, values: Any) -> None:
    """Compute `target[index] += values`, accumulating repeated indices.

    int64 values are added as uint64, for which CUDA has an atomic addition; the resulting bits are the same.
    """
    if target.dtype == np.int64:
        target, values = target.view(np.uint64), cupy.ascontiguousarray(values).view(np.uint64)
    cupyx.scatter_add(target, index, values)


@kernel
def index_backward(input: Any, shape: Sizes, index: Any) -> Any:
    grad_input = cupy.zeros(shape, input.dtype)
    _add_at(grad_input, index, input)
    return grad_input


@kernel
def index_put_add(input: Any, values: Any, index: Any) -> Any:
    result = input.copy()
    _add_at(result, index, values)
    return result


@kernel
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    result = input.copy()
    where = list(cupy.ogrid[tuple(slice(0, length) for length in index.shape)])
    where[dim] = index
    _add_at(result, tuple(where), src[tuple(slice(0, length) for length in index.shape)])
    return result
