"""Matrix products by oneDNN's `dnnl_sgemm`, called from compiled code, where taking an array's address is free.

`gemm` is the address of that function.  Matrices are row-major; `transpose_a` and `transpose_b` say to use their transposes.
"""

from __future__ import annotations

import llvmlite.ir as ir
from numba import prange, types
from numba.extending import intrinsic

from . import compiled, inlined, loop
from .scalar import f32

_I32, _I64, _F32 = ir.IntType(32), ir.IntType(64), ir.FloatType()
_FLOATS = _F32.as_pointer()
_SGEMM = ir.FunctionType(_I32, [_I32, _I32, _I64, _I64, _I64, _F32, _FLOATS, _I64, _FLOATS, _I64, _F32, _FLOATS, _I64])
_AS_IS, _TRANSPOSED = ord("N"), ord("T")


@intrinsic
def _sgemm(typing, gemm, transpose_a, transpose_b, rows, columns, depth, a, a_step, b, b_step, beta, out, out_step):
    """`out = a @ b + beta * out`."""
    sizes = (types.int64,) * 3
    signature = types.int32(
        types.int64, types.boolean, types.boolean, *sizes, a, types.int64, b, types.int64, types.float32, out, types.int64
    )

    def generate(context, builder, signature, args):
        def letter(transpose):
            return builder.select(transpose, _I32(_TRANSPOSED), _I32(_AS_IS))

        def address(index):
            array = context.make_array(signature.args[index])(context, builder, args[index])
            return builder.bitcast(array.data, _FLOATS)

        function = builder.inttoptr(args[0], _SGEMM.as_pointer())
        return builder.call(
            function,
            [
                letter(args[1]),
                letter(args[2]),
                *args[3:6],
                _F32(1),
                address(6),
                args[7],
                address(8),
                args[9],
                args[10],
                address(11),
                args[12],
            ],
        )

    return signature, generate


@inlined
def multiply(gemm, out, a, transpose_a, b, transpose_b, beta):
    """`out = a @ b + beta * out`; rows may be strided, the elements of a row must be contiguous."""
    depth = a.shape[0] if transpose_a else a.shape[1]
    _sgemm(
        gemm,
        transpose_a,
        transpose_b,
        out.shape[0],
        out.shape[1],
        depth,
        a,
        a.strides[0] // 4,
        b,
        b.strides[0] // 4,
        beta,
        out,
        out.strides[0] // 4,
    )


@loop
def product(gemm, out, a, transpose_a, b, transpose_b):
    multiply(gemm, out, a, transpose_a, b, transpose_b, f32(0))


@loop
def affine(gemm, out, a, transpose_a, b, transpose_b, bias):
    """`out = a @ b + bias`."""
    for i in range(len(out)):
        row = out[i]
        for j in range(len(row)):
            row[j] = bias[j]
    multiply(gemm, out, a, transpose_a, b, transpose_b, f32(1))


@compiled
def products(gemm, out, a, transpose_a, b, transpose_b):
    """A product for each matrix of a batch; a thread works on one at a time."""
    for i in prange(len(out)):
        multiply(gemm, out[i], a[i], transpose_a, b[i], transpose_b, f32(0))
