"""Fourier transforms with the dimensions ordered by the input's memory; the result has the same memory order.

The transformed dimensions are moved to the end, and both groups of dimensions are sorted by stride.  In a transform to or from
real numbers, the halved dimension (the last of `dims`) remains the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from flambeau.operations.fft import FORWARD, INVERSE

from .kernels import kernel

__all__ = ["transform_order"]

_SMALL_SIZE = 1 << 10  # number of elements up to which a full complex transform is faster than mirroring half a spectrum


def transform_order(input: Any, dims: Sequence[int], halved: bool) -> list[int]:
    """Return all dimensions, from the largest to the smallest stride that the result of a transform over `dims` has."""

    def outermost_first(chosen: Any) -> list[int]:
        return sorted(chosen, key=lambda dim: -abs(input.strides[dim]))

    free = len(dims) - halved
    return [*outermost_first(set(range(input.ndim)) - set(dims)), *outermost_first(dims[:free]), *dims[free:]]


def _transformed(
    transform: Callable[..., Any], input: Any, order: Sequence[int], count: int, norm: str, dtype: Any, last: int | None = None
) -> Any:
    """Apply `transform` along the last `count` dimensions of `order`; `last` is the result's length along the last of these."""
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
    order, count, norm = transform_order(input, dims, True), len(dims), FORWARD[scale]
    dtype = np.result_type(input.dtype, np.complex64)
    if onesided:
        return _transformed(np.fft.rfftn, input, order, count, norm, dtype, input.shape[dims[-1]] // 2 + 1)
    if input.size <= _SMALL_SIZE:
        return _transformed(np.fft.fftn, input, order, count, norm, dtype)
    ordered = input.transpose(order)
    result, half = np.empty(ordered.shape, dtype), ordered.shape[-1] // 2 + 1
    np.fft.rfftn(ordered, None, range(-count, 0), norm, out=result[..., :half])
    _mirror(result, count)
    return result.transpose(np.argsort(order))


def _mirror(result: Any, count: int) -> None:
    """Fill the second half of the last of `count` dimensions by symmetry: for real input, `X[-k] = conj(X[k])`."""
    length = result.shape[-1]
    into, source = slice(length // 2 + 1, None), slice((length - 1) // 2, 0, -1)
    zero, others = (slice(0, 1), slice(0, 1)), (slice(1, None), slice(None, 0, -1))
    for pairs in product((zero, others), repeat=count - 1):
        np.conjugate(
            result[(..., *(backward for _, backward in pairs), source)],
            out=result[(..., *(forward for forward, _ in pairs), into)],
        )


@kernel
def fft_c2r(input: Any, dims: tuple[int, ...], scale: int, size: int) -> Any:
    dtype = input.real.dtype
    return _transformed(np.fft.irfftn, input, transform_order(input, dims, True), len(dims), INVERSE[scale], dtype, size)
