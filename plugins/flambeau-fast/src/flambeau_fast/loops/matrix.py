"""Products of matrices, by oneDNN's `dnnl_sgemm`: called from compiled code, where an array's address costs nothing.

`gemm` is the address of that function.  A matrix is given in row-major order; *turned*, its transpose is what is meant.
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
_AS_IS, _TURNED = ord("N"), ord("T")


@intrinsic
def _sgemm(typing, gemm, turned_a, turned_b, rows, columns, depth, a, a_step, b, b_step, kept, out, out_step):
    """`out = a @ b + kept * out`."""
    sizes = (types.int64,) * 3
    signature = types.int32(
        types.int64, types.boolean, types.boolean, *sizes, a, types.int64, b, types.int64, types.float32, out, types.int64
    )

    def generate(context, builder, signature, args):
        def letter(turned):
            return builder.select(turned, _I32(_TURNED), _I32(_AS_IS))

        def address(index):
            made = context.make_array(signature.args[index])(context, builder, args[index])
            return builder.bitcast(made.data, _FLOATS)

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
def multiply(gemm, out, a, turned_a, b, turned_b, kept):
    """`out = a @ b + kept * out`; rows may lie apart, elements of a row may not."""
    depth = a.shape[0] if turned_a else a.shape[1]
    _sgemm(
        gemm,
        turned_a,
        turned_b,
        out.shape[0],
        out.shape[1],
        depth,
        a,
        a.strides[0] // 4,
        b,
        b.strides[0] // 4,
        kept,
        out,
        out.strides[0] // 4,
    )


@loop
def product(gemm, out, a, turned_a, b, turned_b):
    multiply(gemm, out, a, turned_a, b, turned_b, f32(0))


@loop
def affine(gemm, out, a, turned_a, b, turned_b, bias):
    """`a @ b + bias`."""
    for i in range(len(out)):
        row = out[i]
        for j in range(len(row)):
            row[j] = bias[j]
    multiply(gemm, out, a, turned_a, b, turned_b, f32(1))


@compiled
def products(gemm, out, a, turned_a, b, turned_b):
    """A product for each matrix of a batch; a thread works on one at a time."""
    for i in prange(len(out)):
        multiply(gemm, out[i], a[i], turned_a, b[i], turned_b, f32(0))
