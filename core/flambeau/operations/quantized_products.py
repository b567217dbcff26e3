"""Products with weights of int8 and of 4-bit integers, and exact products of int8 matrices.

They serve PyTorch's private functions `_weight_int8pack_mm`, `_weight_int4pack_mm_for_cpu` and `_int_mm`, which quantization
libraries call.  Imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.facts import Kind
from ..engine.calls.op import op
from ..engine.tensors.tensor import Tensor

__all__ = ["PACKED_COLUMNS", "int4_linear", "int8_linear", "int8_product", "pack_int4", "unpack_int4"]

PACKED_COLUMNS = 64  # number of outputs whose weights for one input are stored in consecutive bytes


def _int8_product_forward(xp: Any, input: Any, other: Any) -> Any:
    # Products of int8 are at most 2**14: sums of 2**10 of them are exact in float32, and sums of 2**38 in float64.
    exact = xp.float32 if input.shape[-1] <= 1024 else xp.float64
    return xp.astype(xp.matmul(xp.astype(input, exact), xp.astype(other, exact)), xp.int32)


def _int8_linear_forward(xp: Any, input: Any, weight: Any, scales: Any) -> Any:
    return xp.matmul(input, xp.matrix_transpose(xp.astype(weight, input.dtype))) * scales


def _int4_linear_forward(xp: Any, input: Any, weight: Any, scales_and_zeros: Any, /, group: int) -> Any:
    numbers = xp.astype(unpack_int4(xp, weight), input.dtype)  # (K, N)
    scales, zeros = (xp.repeat(scales_and_zeros[..., i], group, axis=0)[: numbers.shape[0]] for i in (0, 1))
    return xp.matmul(input, (numbers - 8) * scales + zeros)


def pack_int4(xp: Any, numbers: Any) -> Any:
    """Pack numbers from 0 to 15 of shape `(N, K)` to bytes of shape `(N, K / 2)`, as PyTorch does on processors with AVX-512.

    In each block of 64 rows, row `j` is stored in the low bits of a byte and row `j + 32` in the high bits; the bytes of one
    column are consecutive.  In the remaining rows, pairs of neighbouring rows share a byte.
    """
    rows, columns = numbers.shape
    blocks = rows // PACKED_COLUMNS
    whole = blocks * PACKED_COLUMNS
    numbers = xp.astype(numbers, xp.uint8)
    halves = xp.reshape(numbers[:whole], (blocks, 2, PACKED_COLUMNS // 2, columns))
    rest = xp.reshape(numbers[whole:], ((rows - whole) // 2, 2, columns))
    packed = xp.matrix_transpose(halves[:, 0] | (halves[:, 1] << 4)), xp.matrix_transpose(rest[:, 0] | (rest[:, 1] << 4))
    return xp.reshape(xp.concat([xp.reshape(part, (-1,)) for part in packed]), (rows, columns // 2))


def unpack_int4(xp: Any, packed: Any) -> Any:
    """Return the numbers from 0 to 15 that `pack_int4` packed, transposed: an array of uint8 of shape `(K, N)`."""
    rows, columns = packed.shape[0], 2 * packed.shape[1]
    blocks, flat = rows // PACKED_COLUMNS, xp.reshape(packed, (-1,))
    whole = blocks * PACKED_COLUMNS
    halves = xp.reshape(flat[: whole * columns // 2], (blocks, columns, 1, PACKED_COLUMNS // 2))
    numbers = xp.concat([halves & 15, halves >> 4], axis=2)
    numbers = xp.reshape(xp.permute_dims(numbers, (1, 0, 2, 3)), (columns, whole))
    rest = xp.reshape(flat[whole * columns // 2 :], (columns, (rows - whole) // 2, 1))
    return xp.concat([numbers, xp.reshape(xp.concat([rest & 15, rest >> 4], axis=2), (columns, rows - whole))], axis=1)


int8_product: Callable[..., Tensor] = op(
    "int8_product", _int8_product_forward,
    kind=Kind.PRODUCT, promote="int32", dtypes="integers", public=False, method=False, out=False,
)  # fmt: skip
int8_linear: Callable[..., Tensor] = op(
    "int8_linear", _int8_linear_forward,
    kind=Kind.PRODUCT, keeps_dtype=("weight",), promote="accumulate", dtypes="floating", public=False, method=False, out=False,
)  # fmt: skip
int4_linear: Callable[..., Tensor] = op(
    "int4_linear", _int4_linear_forward,
    kind=Kind.PRODUCT, keeps_dtype=("weight",), promote="accumulate", dtypes="floating", public=False, method=False, out=False,
)  # fmt: skip
