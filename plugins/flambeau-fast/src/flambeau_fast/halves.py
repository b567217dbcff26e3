"""Half precision: casts for the NumPy backend's float16 and bfloat16 operations, and elementwise kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from flambeau_backends.numpy.packs import halves

from .choice import FLOAT, LEAST
from .kernels import kernels

HALF, BFLOAT16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
WORD = np.dtype(np.uint16)  # buffers of bfloat16 do not exist
MANY = LEAST or 1 << 8  # number of elements from which these kernels are faster than NumPy, despite their call overhead


# --- casts --------------------------------------------------------------------------------------------------------


def _between(half: Any, to_single: Callable[..., None], from_single: Callable[..., None]) -> None:
    """Register the conversions between float32 and a 16-bit dtype with the NumPy backend."""
    halves.CONVERSIONS[half, FLOAT] = MANY, lambda out, vector: to_single(out, vector.view(np.uint16))
    halves.CONVERSIONS[FLOAT, half] = MANY, lambda out, vector: from_single(out.view(np.uint16), vector)


_between(HALF, kernels.half_to_single, kernels.single_to_half)
_between(BFLOAT16, kernels.bfloat16_to_single, kernels.single_to_bfloat16)


# --- elementwise kernels ------------------------------------------------------------------------------------------

LOOPS = (
    "add", "div", "exp", "gelu", "gelu_backward", "gelu_tanh", "gelu_tanh_backward", "mul", "relu", "relu_backward", "sigmoid",
    "silu", "silu_backward", "sqrt", "sub", "tanh",
)  # fmt: skip


def _of_halves(loop: Callable[..., None]) -> Callable[..., Any]:
    """Return a kernel that calls a C loop for contiguous arrays of equal dtype and shape, and returns None for others."""

    def kernel(input: Any, *others: Any) -> Any:
        dtype, shape = input.dtype, input.shape
        if input.size < MANY or not input.flags.c_contiguous:
            return None
        for other in others:
            if getattr(other, "dtype", None) != dtype or other.shape != shape or not other.flags.c_contiguous:
                return None
        result = np.empty(shape, dtype)
        if dtype == HALF:
            loop(result, input, *others)
        else:
            loop(result.view(WORD), input.view(WORD), *[other.view(WORD) for other in others])
        return result

    return kernel


halves.LOOPS.update({name: _of_halves(getattr(kernels, name)) for name in LOOPS})


# --- arithmetic with broadcasting ---------------------------------------------------------------------------------

SUM, DIFFERENCE, PRODUCT, QUOTIENT, NEGATED = range(5)  # the operations of `half_arithmetic.h`


@lru_cache(1024)
def _common_shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape of the result; None if it has few elements or the shapes do not broadcast."""
    try:
        shape = np.broadcast_shapes(first, second)
    except ValueError:
        return None
    return shape if shape and prod(shape) >= MANY else None


def _by_rows(operation: int, input: Any, other: Any) -> Any:
    """Compute an operation on arrays that broadcast; the kernel declines if a row of the last dimension is not contiguous."""
    dtype, shape = input.dtype, _common_shape(input.shape, other.shape)
    if shape is None or other.dtype != dtype:
        return None
    rank, first, second = len(shape), input.view(WORD), other.view(WORD)
    if first.ndim != rank:
        first = first.reshape((1,) * (rank - first.ndim) + first.shape)
    elif second.ndim != rank:
        second = second.reshape((1,) * (rank - second.ndim) + second.shape)
    has_same_order = input.strides == other.strides and input.shape == other.shape
    result = np.empty_like(first) if has_same_order else np.empty(shape, WORD)
    kernels.half_arithmetic(result, first, second, rank, operation, 0 if dtype == HALF else 1)
    return result.view(dtype)


def _arithmetic(name: str, operation: int) -> Callable[..., Any]:
    """Return a kernel that calls the elementwise loop for contiguous arrays of equal shape, and `_by_rows` for others."""
    loop = halves.LOOPS[name]

    def kernel(input: Any, other: Any) -> Any:
        if not isinstance(other, np.ndarray):
            return None
        result = loop(input, other) if input.shape == other.shape else None
        return _by_rows(operation, input, other) if result is None else result

    return kernel


def neg(input: Any) -> Any:
    return _by_rows(NEGATED, input, input)


BINARY = {"add": SUM, "sub": DIFFERENCE, "mul": PRODUCT, "div": QUOTIENT}
halves.LOOPS.update({name: _arithmetic(name, operation) for name, operation in BINARY.items()} | {"neg": neg})
