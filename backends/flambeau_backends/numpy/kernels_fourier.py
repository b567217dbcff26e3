"""Fourier transforms, computed in an order of dimensions that suits the input's memory; the result has the same memory order.

The transformed dimensions are moved behind the others, and each of the two groups is ordered by stride.  In a transform to or
from real numbers, the dimension that is halved (the last of `dims`) stays last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flambeau.operations.fourier import FORWARD, INVERSE

from .kernels import kernel

__all__ = ["transform_order"]


def transform_order(input: Any, dims: Sequence[int], halved: bool) -> list[int]:
    """The dimensions, from the slowest in memory to the fastest, in which the result of a transform over `dims` is computed."""

    def outermost_first(chosen: Any) -> list[int]:
        return sorted(chosen, key=lambda dim: -abs(input.strides[dim]))

    free = len(dims) - halved
    return [*outermost_first(set(range(input.ndim)) - set(dims)), *outermost_first(dims[:free]), *dims[free:]]


def _transformed(
    transform: Callable[..., Any], input: Any, order: Sequence[int], count: int, norm: str, dtype: Any, last: int | None = None
) -> Any:
    """Apply `transform` along the last `count` dimensions of `order`; `last` is the length of the very last one in the result."""
    ordered = input.transpose(order)
    shape = ordered.shape if last is None else (*ordered.shape[:-1], last)
    lengths = shape[-count:] if transform is np.fft.irfftn else None
    return transform(ordered, lengths, range(-count, 0), norm, out=np.empty(shape, dtype)).transpose(np.argsort(order))


@kernel
def fft_c2c(input: Any, dims: tuple[int, ...], scale: int, forward: bool) -> Any:
    transform, norm = (np.fft.fftn, FORWARD[scale]) if forward else (np.fft.ifftn, INVERSE[scale])
    return _transformed(transform, input, transform_order(input, dims, False), len(dims), norm, input.dtype)


@kernel
def fft_r2c(input: Any, dims: tuple[int, ...], scale: int, onesided: bool = True) -> Any:
    transform, last = (np.fft.rfftn, input.shape[dims[-1]] // 2 + 1) if onesided else (np.fft.fftn, None)
    dtype = np.result_type(input.dtype, np.complex64)
    return _transformed(transform, input, transform_order(input, dims, True), len(dims), FORWARD[scale], dtype, last)


@kernel
def fft_c2r(input: Any, dims: tuple[int, ...], scale: int, size: int) -> Any:
    dtype = input.real.dtype
    return _transformed(np.fft.irfftn, input, transform_order(input, dims, True), len(dims), INVERSE[scale], dtype, size)
