"""Matrix products and the array API's `linalg` for meta arrays: they return the shapes and dtypes of results."""

from __future__ import annotations

from collections import namedtuple
from types import ModuleType
from typing import Any

import numpy as np

from .arrays import MetaArray, described

__all__ = ["matmul", "namespace", "tensordot", "vecdot"]

_SVD = namedtuple("SVDResult", "U S Vh")
_QR = namedtuple("QRResult", "Q R")
_Eigh = namedtuple("EighResult", "eigenvalues eigenvectors")
_Eig = namedtuple("EigResult", "eigenvalues eigenvectors")
_Slogdet = namedtuple("SlogdetResult", "sign logabsdet")


def _result_type(*arrays: MetaArray) -> Any:
    return np.result_type(*[array.dtype for array in arrays])


def _real(dtype: Any) -> Any:
    return np.zeros((), dtype).real.dtype


def _complex(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def matmul(x1: MetaArray, x2: MetaArray, /) -> MetaArray:
    if not x1.ndim or not x2.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    rows = x1.shape[-2:-1] if x1.ndim > 1 else ()
    columns = x2.shape[-1:] if x2.ndim > 1 else ()
    if x1.shape[-1] != (x2.shape[-2] if x2.ndim > 1 else x2.shape[0]):
        raise ValueError(f"matmul: shapes {x1.shape} and {x2.shape} do not fit")
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return described((*batch, *rows, *columns), _result_type(x1, x2))


def vecdot(x1: MetaArray, x2: MetaArray, /, *, axis: int = -1) -> MetaArray:
    shape = list(np.broadcast_shapes(x1.shape, x2.shape))
    del shape[axis]
    return described(shape, _result_type(x1, x2))


def tensordot(x1: MetaArray, x2: MetaArray, /, *, axes: Any = 2) -> MetaArray:
    if isinstance(axes, int):
        axes = (range(x1.ndim - axes, x1.ndim), range(axes))
    first, second = ([axis % x.ndim for axis in summed] for x, summed in zip((x1, x2), axes, strict=True))
    left = [n for d, n in enumerate(x1.shape) if d not in first]
    return described((*left, *[n for d, n in enumerate(x2.shape) if d not in second]), _result_type(x1, x2))


def _same(x: MetaArray, /, **_: Any) -> MetaArray:
    return described(x.shape, x.dtype)


def _svd(x: MetaArray, /, *, full_matrices: bool = True) -> Any:
    *batch, rows, columns = x.shape
    rank = min(rows, columns)
    left = described((*batch, rows, rows if full_matrices else rank), x.dtype)
    right = described((*batch, columns if full_matrices else rank, columns), x.dtype)
    return _SVD(left, described((*batch, rank), _real(x.dtype)), right)


def _svdvals(x: MetaArray, /) -> MetaArray:
    return described((*x.shape[:-2], min(x.shape[-2:])), _real(x.dtype))


def _qr(x: MetaArray, /, *, mode: str = "reduced") -> Any:
    *batch, rows, columns = x.shape
    inner = rows if mode == "complete" else min(rows, columns)
    return _QR(described((*batch, rows, inner), x.dtype), described((*batch, inner, columns), x.dtype))


def _eigh(x: MetaArray, /) -> Any:
    return _Eigh(described(x.shape[:-1], _real(x.dtype)), described(x.shape, x.dtype))


def _eig(x: MetaArray, /) -> Any:
    return _Eig(described(x.shape[:-1], _complex(x.dtype)), described(x.shape, _complex(x.dtype)))


def _solve(x1: MetaArray, x2: MetaArray, /) -> MetaArray:
    if x2.ndim == 1:
        return described(x1.shape[:-1], _result_type(x1, x2))
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return described((*batch, *x2.shape[-2:]), _result_type(x1, x2))


def _vector_norm(x: MetaArray, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> MetaArray:
    shape = np.sum(np.zeros((1,) * x.ndim), axis=axis, keepdims=True).shape  # raises for an invalid axis
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    kept = [1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes]
    return described(kept if shape or not x.ndim else (), _real(x.dtype))


namespace = ModuleType("flambeau_backends.meta.linalg", __doc__)
namespace.__dict__.update(
    matmul=matmul, tensordot=tensordot, vecdot=vecdot, svd=_svd, svdvals=_svdvals, qr=_qr, eigh=_eigh, eig=_eig,
    eigvalsh=lambda x, /: described(x.shape[:-1], _real(x.dtype)),
    eigvals=lambda x, /: described(x.shape[:-1], _complex(x.dtype)),
    inv=_same, cholesky=_same, solve=_solve, det=lambda x, /: described(x.shape[:-2], x.dtype),
    slogdet=lambda x, /: _Slogdet(described(x.shape[:-2], x.dtype), described(x.shape[:-2], _real(x.dtype))),
    matrix_transpose=lambda x, /: x.mT, vector_norm=_vector_norm,
    cross=lambda x1, x2, /, *, axis=-1: described(np.broadcast_shapes(x1.shape, x2.shape), _result_type(x1, x2)),
)  # fmt: skip
