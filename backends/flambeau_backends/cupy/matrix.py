"""Matrix products by cuBLAS, called directly: CuPy's `matmul` ignores the TF32 setting and upcasts half precision."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy
import numpy as np

from flambeau import backends

from .kernels import kernel

__all__ = ["batched_gemm", "bmm", "mm", "product"]

# cuBLAS's constants
_NO_TRANSPOSE, _TRANSPOSE = 0, 1  # operations
_TYPES = {"float16": 2, "bfloat16": 14, "float32": 0}
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32, _DEFAULT_ALGORITHM = 68, 77, -1


def _layout(array: Any) -> tuple[Any, int, int]:
    """Return a batch of matrices for cuBLAS: the array (copied if necessary), its transpose flag, and its leading dimension."""
    rows, columns = array.shape[-2:]
    item = array.itemsize
    if array.strides[-1] == item and array.strides[-2] >= columns * item and array.strides[-2] % item == 0:
        return array, _NO_TRANSPOSE, array.strides[-2] // item
    if array.strides[-2] == item and array.strides[-1] >= rows * item and array.strides[-1] % item == 0:
        return array, _TRANSPOSE, array.strides[-1] // item
    return cupy.ascontiguousarray(array), _NO_TRANSPOSE, max(columns, 1)


def batched_gemm(a: Any, b: Any, allow_tf32: bool) -> Any:
    """Return `a @ b` for `(batch, n, k)` and `(batch, k, m)` of one dtype, accumulated in float32.

    cuBLAS matrices are column-major, so the transposed product `b.T @ a.T` is computed.
    """
    (batch, n, k), m = a.shape, b.shape[2]
    out = cupy.empty((batch, n, m), a.dtype)
    if not out.size or not k:
        out.fill(0)
        return out
    (a, transpose_a, leading_a), (b, transpose_b, leading_b) = _layout(a), _layout(b)
    kind = _TYPES[a.dtype.name]
    one, zero = np.array(1, np.float32), np.array(0, np.float32)
    compute = _COMPUTE_32F_FAST_TF32 if a.dtype == np.float32 and allow_tf32 else _COMPUTE_32F
    cupy.cuda.cublas.gemmStridedBatchedEx(
        cupy.cuda.Device().cublas_handle,
        transpose_b,
        transpose_a,
        m,
        n,
        k,
        one.ctypes.data,
        b.data.ptr,
        kind,
        leading_b,
        b.strides[0] // b.itemsize,
        a.data.ptr,
        kind,
        leading_a,
        a.strides[0] // a.itemsize,
        zero.ctypes.data,
        out.data.ptr,
        kind,
        m,
        n * m,
        batch,
        compute,
        _DEFAULT_ALGORITHM,
    )
    return out


def product(a: Any, b: Any, allow_tf32: bool | None = None) -> Any:
    """Return `a @ b`; `allow_tf32` defaults to the setting in `flambeau.backends.cuda.matmul`."""
    if a.dtype != b.dtype or a.dtype.name not in _TYPES:
        return cupy.matmul(a, b)
    batch_shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a3 = cupy.broadcast_to(a, (*batch_shape, *a.shape[-2:])).reshape(prod(batch_shape), *a.shape[-2:])
    b3 = cupy.broadcast_to(b, (*batch_shape, *b.shape[-2:])).reshape(prod(batch_shape), *b.shape[-2:])
    allowed = backends.cuda.matmul.allow_tf32 if allow_tf32 is None else allow_tf32
    return batched_gemm(a3, b3, allowed).reshape(*batch_shape, a.shape[-2], b.shape[-1])


@kernel
def mm(input: Any, mat2: Any) -> Any:
    return product(input, mat2)


@kernel
def bmm(input: Any, mat2: Any) -> Any:
    return product(input, mat2)


@kernel
def addmm(bias: Any, input: Any, mat2: Any) -> Any:
    return product(input, mat2) + bias


@kernel
def linear(bias: Any, input: Any, weight: Any) -> Any:
    rows = input.reshape(-1, input.shape[-1])
    return product(rows, weight.T).reshape(*input.shape[:-1], weight.shape[0]) + bias
