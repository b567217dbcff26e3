"""The linear algebra extension of the array API, and the matrix products of its main namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..engine.values.dtypes import dtype
from .elementwise import promote_operands
from .manipulation import Axes, normalize_axes
from .reductions import sum_dtype

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace",
    "vecdot", "vector_norm",
]  # fmt: skip

_linalg: Any = torch.linalg


# --- products -----------------------------------------------------------------------------------------------------


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Compute the matrix product with broadcast batch dimensions; a vector is a row on the left and a column on the right."""
    return torch.matmul(*promote_operands(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Transpose the last two dimensions."""
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Sum the products over the last `axes` axes of `x1` and the first of `x2`, or over the axes given for both."""
    return torch.tensordot(*promote_operands(x1, x2), dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Compute the sum of `conj(x1) * x2` along an axis, which is counted from the last dimension of both arrays.

    Raises:
        ValueError: the two have different lengths along that axis, which does not broadcast.
    """
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot() expects vectors of the same length, got lengths {x1.shape[axis]} and {x2.shape[axis]}")
    x1, x2 = torch.broadcast_tensors(*promote_operands(x1, x2))
    rows, columns = torch.conj(x1).moveaxis(axis, -1), x2.moveaxis(axis, -1)
    return torch.matmul(rows[..., None, :], columns[..., None])[..., 0, 0]


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Compute the outer product of two vectors: `result[i, j] = x1[i] * x2[j]`."""
    return torch.outer(*promote_operands(x1, x2))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Compute the cross products of vectors of length 3 along an axis, counted from the last dimension."""
    x1, x2 = promote_operands(x1, x2)
    ndim = max(x1.ndim, x2.ndim)
    x1, x2 = (array[(None,) * (ndim - array.ndim)] for array in (x1, x2))
    return _linalg.cross(x1, x2, dim=axis)  # type: ignore[no-any-return]


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Raise square matrices to the `n`-th power; a negative `n` uses their inverses."""
    return _linalg.matrix_power(x, n)  # type: ignore[no-any-return]


# --- parts and numbers --------------------------------------------------------------------------------------------


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return the diagonals of the matrices."""
    return _linalg.diagonal(x, offset=offset)  # type: ignore[no-any-return]


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor:
    """Sum the diagonals of the matrices."""
    return torch.sum(diagonal(x, offset=offset), -1, dtype=sum_dtype(x, dtype))


def det(x: Tensor, /) -> Tensor:
    """Compute the determinants of square matrices."""
    return _linalg.det(x)  # type: ignore[no-any-return]


def slogdet(x: Tensor, /) -> Any:
    """Return the signs of the determinants, and the logarithms of their absolute values."""
    return _linalg.slogdet(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Compute the matrix norms over the last two dimensions."""
    return _linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)  # type: ignore[no-any-return]


def vector_norm(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """Compute the vector norms over `axis`; with None, the norm of all elements as one vector."""
    axes = normalize_axes(x, axis)
    if x.ndim and not axes:
        return torch.abs(x) if ord else (x != 0).to(x.dtype.to_real())
    return _linalg.vector_norm(x, ord, axes if x.ndim else None, keepdims)  # type: ignore[no-any-return]


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Count the singular values of each matrix that exceed `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)  # type: ignore[no-any-return]


# --- decompositions and solutions ---------------------------------------------------------------------------------


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the triangular Cholesky factors of positive definite matrices."""
    return _linalg.cholesky(x, upper=upper)  # type: ignore[no-any-return]


def eig(x: Tensor, /) -> Any:
    """Return the eigenvalues and eigenvectors of square matrices, as complex numbers."""
    return _linalg.eig(x)


def eigvals(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of square matrices, as complex numbers."""
    return _linalg.eigvals(x)  # type: ignore[no-any-return]


def eigh(x: Tensor, /) -> Any:
    """Return the eigenvalues and eigenvectors of Hermitian matrices."""
    return _linalg.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of Hermitian matrices."""
    return _linalg.eigvalsh(x)  # type: ignore[no-any-return]


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """Return the orthogonal and triangular factors of the matrices."""
    return _linalg.qr(x, mode)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """Return the singular value decompositions of the matrices."""
    return _linalg.svd(x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """Return the singular values of the matrices."""
    return _linalg.svdvals(x)  # type: ignore[no-any-return]


def inv(x: Tensor, /) -> Tensor:
    """Return the inverses of the matrices."""
    return _linalg.inv(x)  # type: ignore[no-any-return]


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the pseudo-inverses of the matrices, ignoring singular values below `rtol` times the largest."""
    return _linalg.pinv(x, rtol=rtol)  # type: ignore[no-any-return]


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Solve the linear systems `x1 @ x = x2`; a one-dimensional `x2` is a vector, otherwise a stack of matrices."""
    x1, x2 = promote_operands(x1, x2)
    if x2.ndim == 1:
        return _linalg.solve(x1, x2[:, None])[..., 0]  # type: ignore[no-any-return]
    batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _linalg.solve(x1, x2.expand(*batch, *x2.shape[-2:]))  # type: ignore[no-any-return]
