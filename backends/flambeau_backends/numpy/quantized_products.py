"""Products with weights of int8 and 4-bit integers, and exact products of int8 matrices.

Weights are converted to float32 in blocks that stay in the processor's cache until they are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .chunks import SHARED
from .half_products import BLOCK
from .kernels import kernel
from .threads import parts, product, share

__all__: list[str] = []

_SINGLE = np.dtype(np.float32)
_EXACT_DEPTH = 1 << 10  # products of int8 are at most 2**14: sums of this number of products are exact in float32
_UNIT = 64  # `quantized_products.PACKED_COLUMNS`


def _share_outputs(compute: Callable[[slice], None], outputs: int, depth: int, rows: int, unit: int = 1) -> None:
    """Call `compute` with slices of outputs, of about `BLOCK` weights each, or more if the input is large.

    Slices start at multiples of `unit`.  For one row they do not depend on the number of threads: BLAS may add the products of
    the last rows of a block in another order.
    """
    most = max(1, (2 * BLOCK if rows == 1 else max(BLOCK, 2 * rows * depth)) // max(depth * unit, 1))
    is_large = outputs * depth >= SHARED
    units = parts(-(-outputs // unit), most, is_large and rows > 1)
    share(compute, [slice(part.start * unit, min(part.stop * unit, outputs)) for part in units], is_large)


@kernel
def int8_product(input: Any, other: Any) -> Any:
    depth, columns = other.shape
    single, result = input.astype(_SINGLE), np.zeros((len(input), columns), np.int32)

    def multiply(part: slice) -> None:
        for start in range(0, depth, _EXACT_DEPTH):
            some = slice(start, start + _EXACT_DEPTH)
            result[:, part] += product(single[:, some], other[some, part].astype(_SINGLE)).astype(np.int32)

    _share_outputs(multiply, columns, depth, len(input))
    return result


@kernel
def int8_linear(input: Any, weight: Any, scales: Any) -> Any:
    result = np.empty((len(input), len(weight)), _SINGLE)

    def multiply(part: slice) -> None:
        block = weight[part].astype(_SINGLE)
        if len(input) == 1:
            block.dot(input[0], result[0, part])  # in half the time of `matmul`
        else:
            np.matmul(input, block.T, result[:, part])
        np.multiply(result[:, part], scales[part], result[:, part])

    _share_outputs(multiply, len(weight), input.shape[1], len(input))
    return result


@kernel
def int4_linear(input: Any, weight: Any, scales_and_zeros: Any, group: int) -> Any:
    from flambeau.operations.quantized_products import unpack_int4  # imported here: few programs use quantized weights

    (rows, depth), outputs = input.shape, len(weight)
    result = np.empty((rows, outputs), _SINGLE)

    def multiply(part: slice) -> None:
        numbers = unpack_int4(np, weight[part]).astype(_SINGLE)
        np.subtract(numbers, _SINGLE.type(8), numbers)
        for start in range(0, depth, group):
            some, parameters = numbers[start : start + group], scales_and_zeros[start // group, part]
            np.multiply(some, parameters[:, 0], some)
            np.add(some, parameters[:, 1], some)
        np.matmul(input, numbers, result[:, part])

    _share_outputs(multiply, outputs, depth, rows, _UNIT)
    return result
