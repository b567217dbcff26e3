"""Private functions of `torch` with which quantization libraries multiply.  Imported on first use.

The tensors of packed weights have the layout that PyTorch uses on processors with AVX-512.
"""

from __future__ import annotations

from typing import NoReturn

from ..engine.tape.grad_mode import no_grad
from ..engine.tensors.tensor import Tensor, wrap
from ..engine.values import dtypes
from ..operations.quantized_products import int4_linear, int8_linear, int8_product, pack_int4

__all__: list[str] = []

_FLOATS = (dtypes.float32, dtypes.float16, dtypes.bfloat16)


def _int_mm(self: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply two int8 matrices, and return the int32 product.  It is exact, modulo 2**32.

    Raises:
        RuntimeError: an operand is not a matrix of int8, the shapes do not fit, or `out` is not int32.
    """
    for name, matrix in (("self", self), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise RuntimeError(f"Expected {name} to be of dimension 2 but got {matrix.ndim}")
        if matrix.dtype is not dtypes.int8:
            raise RuntimeError(f"Expected {name}.dtype to be int8, but got {matrix.dtype}")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"self.size(1) needs to match mat2.size(0) but got {self.shape[1]} and {mat2.shape[0]}")
    if out is not None and out.dtype is not dtypes.int32:
        raise RuntimeError(f"int_mm_out_cpu: Expected result dtype to be of type kInt but got {out.dtype.name}")
    product = int8_product(self, mat2)
    return product if out is None else out.resize_(product.shape).copy_(product)


def _weight_int8pack_mm(self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """Return `(self @ mat2.T) * scales` for a weight of int8, with a scale for each of its rows; rounded once.

    Raises:
        RuntimeError: a dtype or shape does not fit.
    """
    _check_input("_weight_int8pack_mm", self)
    shape = mat2.shape
    if mat2.dtype is not dtypes.int8 or not mat2.is_contiguous() or len(shape) != 2 or shape[1] != self.shape[1]:
        raise RuntimeError("_weight_int8pack_mm : expect B to be int8, contiguous and of shape (N, K).")
    if scales.shape != shape[:1] or scales.dtype is not self.dtype:
        raise RuntimeError("_weight_int8pack_mm : expect scales to be 1d tensor with size N, and the dtype of A.")
    if not (self.requires_grad or scales.requires_grad):
        return int8_linear(self, mat2, scales)
    with no_grad():
        return int8_linear(self.detach(), mat2, scales.detach())


def _weight_int4pack_mm_for_cpu(self: Tensor, mat2: Tensor, qGroupSize: int, qScaleAndZeros: Tensor) -> Tensor:
    """Return `self @ weight.T` for a packed weight of 4-bit numbers, whose values are `(number - 8) * scale + zero`.

    Args:
        self: `(M, K)`.
        mat2: the weight packed by `_convert_weight_to_int4pack_for_cpu`, `(N, K / 2)`.
        qGroupSize: the number of inputs that share a scale and a zero: 32, 64, 128 or 256.
        qScaleAndZeros: `(K / group size, N, 2)`.

    Raises:
        RuntimeError: a dtype or shape does not fit.
    """
    _check_input("_weight_int4pack_mm_for_cpu", self)
    depth = self.shape[1]
    if qGroupSize not in (32, 64, 128, 256):
        raise RuntimeError(f"_weight_int4pack_mm_for_cpu: expect qGroupSize to be 32, 64, 128 or 256, got {qGroupSize}")
    if depth % qGroupSize:
        raise RuntimeError(
            f"_weight_int4pack_mm_for_cpu: expect K to be divisible by qGroupSize, got K:{depth}, qGroupSize:{qGroupSize}"
        )
    if mat2.dtype is not dtypes.uint8 or not mat2.is_contiguous() or tuple(mat2.shape[1:]) != (depth // 2,) or mat2.shape[0] % 16:
        raise RuntimeError(
            "_weight_int4pack_mm_for_cpu : expect B to be uint8, contiguous and of shape (N, K / 2), with N divisible by 16."
        )
    rows = mat2.shape[0]
    if tuple(qScaleAndZeros.shape) != (depth // qGroupSize, rows, 2) or qScaleAndZeros.dtype is not self.dtype:
        raise RuntimeError(
            "_weight_int4pack_mm_for_cpu: expect qScaleAndZeros to have the shape (K / qGroupSize, N, 2) and the dtype of A"
        )
    with no_grad():
        return int4_linear(self.detach(), mat2, qScaleAndZeros.detach(), qGroupSize)


def _convert_weight_to_int4pack_for_cpu(self: Tensor, innerKTiles: int) -> Tensor:
    """Pack a weight of int32 with numbers from 0 to 15, `(N, K)`, to uint8, `(N, K / 2)`.  `innerKTiles` is ignored.

    Raises:
        RuntimeError: the dtype or shape does not fit.
    """
    if self.dtype is not dtypes.int32 or self.ndim != 2 or self.shape[0] % 16 or self.shape[1] % 2:
        raise RuntimeError(
            "_convert_weight_to_int4pack_for_cpu: expect an int32 matrix with rows divisible by 16 and columns by 2, but got "
            f"{self.dtype} of shape {list(self.shape)}"
        )
    key = self._key
    return wrap(pack_int4(key.backend.xp, self._array), key.to(dtypes.uint8))


def _weight_int4pack_mm(self: Tensor, mat2: Tensor, qGroupSize: int, qScaleAndZeros: Tensor) -> NoReturn:
    """Raise NotImplementedError, as PyTorch does on the CPU: the layout of these weights is CUDA's."""
    _refuse("_weight_int4pack_mm")


def _convert_weight_to_int4pack(self: Tensor, innerKTiles: int) -> NoReturn:
    """Raise NotImplementedError, as PyTorch does on the CPU: the layout of these weights is CUDA's."""
    _refuse("_convert_weight_to_int4pack")


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"{name} is for CUDA; for tensors on the CPU, call {name}_for_cpu")


def _check_input(name: str, input: Tensor) -> None:
    if input.ndim != 2 or input.dtype not in _FLOATS:
        raise RuntimeError(f"{name} : expect A to be a matrix of float32, float16 or bfloat16, not {input.ndim}D {input.dtype}.")
