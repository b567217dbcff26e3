"""The linear algebra extension, and the products that are in the standard's main namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ..tensors.tensor import Tensor
from ..values.dtypes import dtype
from .elementwise import together
from .manipulation import Axes, axes_of
from .reductions import summable

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace",
    "vecdot", "vector_norm",
]  # fmt: skip

_linalg: Any = torch.linalg


# --- products -----------------------------------------------------------------------------------------------------


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix product of stacks that broadcast; vectors count as a row before and a column after."""
    return torch.matmul(*together(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The matrices transposed."""
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sum of products over the last `axes` of one and the first of the other, or over axes given for both."""
    return torch.tensordot(*together(x1, x2), dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sum of products of the conjugated `x1` with `x2` along an axis, counted from the last.

    ValueError where the two are not of one length along it: it does not broadcast.
    """
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot() expects vectors of one length, not of {x1.shape[axis]} and {x2.shape[axis]}")
    x1, x2 = torch.broadcast_tensors(*together(x1, x2))
    rows, columns = torch.conj(x1).moveaxis(axis, -1), x2.moveaxis(axis, -1)
    return torch.matmul(rows[..., None, :], columns[..., None])[..., 0, 0]


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of all elements of one vector with all of another."""
    return torch.outer(*together(x1, x2))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of length 3 along an axis, counted from the last."""
    x1, x2 = together(x1, x2)
    ndim = max(x1.ndim, x2.ndim)
    x1, x2 = (each[(None,) * (ndim - each.ndim)] for each in (x1, x2))
    return _linalg.cross(x1, x2, dim=axis)  # type: ignore[no-any-return]


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The matrices multiplied with themselves `n` times; their inverses, for a negative `n`."""
    return _linalg.matrix_power(x, n)  # type: ignore[no-any-return]


# --- parts and numbers --------------------------------------------------------------------------------------------


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of the matrices."""
    return _linalg.diagonal(x, offset=offset)  # type: ignore[no-any-return]


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor:
    """The sums of the diagonals of the matrices."""
    return torch.sum(diagonal(x, offset=offset), -1, dtype=summable(x, dtype))


def det(x: Tensor, /) -> Tensor:
    """The determinants of the matrices."""
    return _linalg.det(x)  # type: ignore[no-any-return]


def slogdet(x: Tensor, /) -> Any:
    """The signs of the determinants, and the logarithms of their absolute values."""
    return _linalg.slogdet(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norms of the matrices."""
    return _linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)  # type: ignore[no-any-return]


def vector_norm(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """The norms of the elements over these axes taken as vectors."""
    axes = axes_of(x, axis)
    if x.ndim and not axes:
        return torch.abs(x) if ord else (x != 0).to(x.dtype.to_real())
    return _linalg.vector_norm(x, ord, axes if x.ndim else None, keepdims)  # type: ignore[no-any-return]


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values of each matrix are above `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)  # type: ignore[no-any-return]


# --- decompositions and solutions ---------------------------------------------------------------------------------


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factors of positive definite matrices."""
    return _linalg.cholesky(x, upper=upper)  # type: ignore[no-any-return]


def eig(x: Tensor, /) -> Any:
    """The eigenvalues and eigenvectors of square matrices, complex ones."""
    return _linalg.eig(x)


def eigvals(x: Tensor, /) -> Tensor:
    """The eigenvalues of square matrices, complex ones."""
    return _linalg.eigvals(x)  # type: ignore[no-any-return]


def eigh(x: Tensor, /) -> Any:
    """The eigenvalues and eigenvectors of Hermitian matrices."""
    return _linalg.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of Hermitian matrices."""
    return _linalg.eigvalsh(x)  # type: ignore[no-any-return]


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """Orthogonal and triangular factors of the matrices."""
    return _linalg.qr(x, mode)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """The singular value decompositions of the matrices."""
    return _linalg.svd(x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of the matrices."""
    return _linalg.svdvals(x)  # type: ignore[no-any-return]


def inv(x: Tensor, /) -> Tensor:
    """The inverses of the matrices."""
    return _linalg.inv(x)  # type: ignore[no-any-return]


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudo-inverses of the matrices, without singular values below `rtol` times the largest."""
    return _linalg.pinv(x, rtol=rtol)  # type: ignore[no-any-return]


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solutions of the systems; `x2` is one vector if it has one dimension, and else a stack of matrices."""
    x1, x2 = together(x1, x2)
    if x2.ndim == 1:
        return _linalg.solve(x1, x2[:, None])[..., 0]  # type: ignore[no-any-return]
    batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _linalg.solve(x1, x2.expand(*batch, *x2.shape[-2:]))  # type: ignore[no-any-return]
