"""Products with weights of int8 and 4-bit integers, for float32, float16 and bfloat16, and exact products of int8 matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import halves
from flambeau_backends.numpy.packs import kernels as numpy_kernels

from .choice import FLOAT, KERNELS, fast
from .half_matrix import DTYPES, WORD
from .kernels import kernels

BYTE = np.dtype(np.int8)
LEAST_INTEGERS = 1 << 12  # number of multiplications below which NumPy's integer product is faster
PACKED_COLUMNS = 64  # outputs per block of 4-bit weights; the kernel supports only complete blocks


def _suits(weight: Any, *arrays: Any) -> bool:
    """Whether the arrays are contiguous and not empty."""
    return all(array.size and array.flags.c_contiguous for array in (weight, *arrays))


@fast(1)
def int8_linear(input: Any, weight: Any, scales: Any) -> Any:
    if not _suits(weight, input, scales) or scales.dtype is not FLOAT:
        return None
    result = np.empty((len(input), len(weight)), FLOAT)
    kernels.int8_linear(result, input, weight, scales)
    return result


def half_int8_linear(input: Any, weight: Any, scales: Any) -> Any:
    if not _suits(weight, input, scales) or scales.dtype != input.dtype:
        return None
    result = np.empty((len(input), len(weight)), WORD)
    kernels.half_int8_linear(result, input.view(WORD), weight, scales.view(WORD), DTYPES[input.dtype])
    return result.view(input.dtype)


@fast(1)
def int4_linear(input: Any, weight: Any, scales_and_zeros: Any, group: int) -> Any:
    if not _suits(weight, input, scales_and_zeros) or scales_and_zeros.dtype is not FLOAT or len(weight) % PACKED_COLUMNS:
        return None
    result = np.empty((len(input), len(weight)), FLOAT)
    kernels.int4_linear(result, input, weight, scales_and_zeros, group)
    return result


def half_int4_linear(input: Any, weight: Any, scales_and_zeros: Any, group: int) -> Any:
    parameters = scales_and_zeros
    if not _suits(weight, input, parameters) or parameters.dtype != input.dtype or len(weight) % PACKED_COLUMNS:
        return None
    result = np.empty((len(input), len(weight)), WORD)
    kernels.half_int4_linear(result, input.view(WORD), weight, parameters.view(WORD), group, DTYPES[input.dtype])
    return result.view(input.dtype)


def int8_product(input: Any, other: Any) -> Any:
    rows, depth, columns = *input.shape, other.shape[1]
    if rows * depth * columns < LEAST_INTEGERS or input.dtype is not BYTE or other.dtype is not BYTE:
        return numpy_kernels.KERNELS["int8_product"](input, other)
    result = np.empty((rows, columns), np.int32)
    kernels.int8_product(result, np.ascontiguousarray(input), np.ascontiguousarray(other.T))
    return result


KERNELS["int8_product"] = int8_product
halves.LOOPS.update({"int8_linear": half_int8_linear, "int4_linear": half_int4_linear})
