"""Half precision: casts for the NumPy backend's float16 and bfloat16 operations, and elementwise kernels."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from flambeau_backends.numpy.packs import halves

from .choice import FLOAT, LEAST
from .kernels import kernels

HALF, BFLOAT16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
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
        arrays = [array.reshape(-1) for array in (result, input, *others)]
        loop(*(arrays if dtype == HALF else [array.view(np.uint16) for array in arrays]))  # no bfloat16 buffers exist
        return result

    return kernel


halves.LOOPS.update({name: _of_halves(getattr(kernels, name)) for name in LOOPS})


# --- arithmetic with broadcasting ---------------------------------------------------------------------------------

WORD = np.dtype(np.uint16)
SUM, DIFFERENCE, PRODUCT, QUOTIENT, NEGATED = range(5)  # the operations of `half_arithmetic.h`


def _by_rows(operation: int, input: Any, other: Any) -> Any:
    """Compute an operation on arrays that broadcast; None if a row of the last dimension is not contiguous."""
    dtype, rank = input.dtype, max(input.ndim, other.ndim)
    if other.dtype != dtype or not rank:
        return None
    arrays = [
        array if array.ndim == rank else array.reshape((1,) * (rank - array.ndim) + array.shape) for array in (input, other)
    ]
    shape = tuple([m if n == 1 else n for n, m in zip(arrays[0].shape, arrays[1].shape, strict=True)])
    if prod(shape) < MANY:
        return None
    for array in arrays:
        if array.strides[-1] != 2 and array.shape[-1] != 1:
            return None
        if array.shape != shape and any(n not in (1, m) for n, m in zip(array.shape, shape, strict=True)):
            return None
    same_order = arrays[0].shape == shape == arrays[1].shape and arrays[0].strides == arrays[1].strides
    result = np.empty_like(arrays[0], WORD) if same_order else np.empty(shape, WORD)
    if result.strides[-1] != 2:
        return None
    kernels.half_arithmetic(result, arrays[0].view(WORD), arrays[1].view(WORD), rank, operation, int(dtype != HALF))
    return result.view(dtype)


def _arithmetic(name: str, operation: int) -> Callable[..., Any]:
    """Return a kernel that calls the elementwise loop for contiguous arrays of equal shape, and `_by_rows` for others."""
    loop = halves.LOOPS[name]

    def kernel(input: Any, other: Any) -> Any:
        result = loop(input, other)
        if result is None and isinstance(other, np.ndarray):
            return _by_rows(operation, input, other)
        return result

    return kernel


def neg(input: Any) -> Any:
    return _by_rows(NEGATED, input, input)


BINARY = {"add": SUM, "sub": DIFFERENCE, "mul": PRODUCT, "div": QUOTIENT}
halves.LOOPS.update({name: _arithmetic(name, operation) for name, operation in BINARY.items()} | {"neg": neg})
