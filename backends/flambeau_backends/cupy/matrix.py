"""Matrix products by cuBLAS: batches of half precision, which CuPy's `matmul` upcasts, and the TF32 switch."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy
import numpy as np

from flambeau import backends

from .kernels import kernel

__all__ = ["batched_gemm", "bmm", "mm", "product"]

# cuBLAS's numbers
_KEEP, _TURN = 0, 1  # operations
_TYPES = {"float16": 2, "bfloat16": 14, "float32": 0}
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32, _DEFAULT_ALGORITHM = 68, 77, -1


def _layout(array: Any) -> tuple[Any, int, int]:
    """A batch of matrices as cuBLAS reads it: the array (copied if need be), whether turned, and the leading dimension."""
    rows, columns = array.shape[-2:]
    item = array.itemsize
    if array.strides[-1] == item and array.strides[-2] >= columns * item and array.strides[-2] % item == 0:
        return array, _KEEP, array.strides[-2] // item
    if array.strides[-2] == item and array.strides[-1] >= rows * item and array.strides[-1] % item == 0:
        return array, _TURN, array.strides[-1] // item
    return cupy.ascontiguousarray(array), _KEEP, max(columns, 1)


def batched_gemm(a: Any, b: Any, allow_tf32: bool) -> Any:
    """`a @ b` for `(batch, n, k)` and `(batch, k, m)` of one dtype, multiplied in it and added up in float32.

    cuBLAS counts by columns, so that it is asked for the transpose: `b' @ a'`.
    """
    (batch, n, k), m = a.shape, b.shape[2]
    out = cupy.empty((batch, n, m), a.dtype)
    if not out.size or not k:
        out.fill(0)
        return out
    (a, turned_a, lead_a), (b, turned_b, lead_b) = _layout(a), _layout(b)
    kind = _TYPES[a.dtype.name]
    one, zero = np.array(1, np.float32), np.array(0, np.float32)
    compute = _COMPUTE_32F_FAST_TF32 if a.dtype == np.float32 and allow_tf32 else _COMPUTE_32F
    cupy.cuda.cublas.gemmStridedBatchedEx(
        cupy.cuda.Device().cublas_handle,
        turned_b,
        turned_a,
        m,
        n,
        k,
        one.ctypes.data,
        b.data.ptr,
        kind,
        lead_b,
        b.strides[0] // b.itemsize,
        a.data.ptr,
        kind,
        lead_a,
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
    """`a @ b`; whether float32 may be rounded to TF32 is for `flambeau.backends.cuda.matmul` to say, unless told."""
    if a.dtype != b.dtype or a.dtype.name not in _TYPES:
        return cupy.matmul(a, b)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a3 = cupy.broadcast_to(a, (*lead, *a.shape[-2:])).reshape(prod(lead), *a.shape[-2:])
    b3 = cupy.broadcast_to(b, (*lead, *b.shape[-2:])).reshape(prod(lead), *b.shape[-2:])
    allowed = backends.cuda.matmul.allow_tf32 if allow_tf32 is None else allow_tf32
    return batched_gemm(a3, b3, allowed).reshape(*lead, a.shape[-2], b.shape[-1])


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
