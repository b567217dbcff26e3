"""Linear algebra that NumPy or SciPy provides but the array API does not."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS
from flambeau.operations.distance import pair_distances_forward
from flambeau.operations.linalg.solves import solve_arrays

from .chunks import chunks
from .error_state import without_warnings
from .kernels import kernel
from .namespace import namespace


@kernel
@without_warnings
def linalg_inv_ex(A: Any) -> Any:
    identity = np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype), A.shape)
    return solve_arrays(namespace, A, identity, lambda: np.linalg.inv(A), _factorize, _triangular)


@kernel
@without_warnings
def linalg_solve_ex(A: Any, B: Any) -> Any:
    return solve_arrays(namespace, A, B, lambda: np.linalg.solve(A, B), _factorize, _triangular)


def _factorize(xp: Any, A: Any) -> Any:
    return linalg_lu_factor_ex(A)


def _triangular(xp: Any, A: Any, B: Any, upper: bool, unitriangular: bool = False) -> Any:
    return linalg_solve_triangular(A, B, upper, unitriangular)


@kernel
def linalg_eig(A: Any) -> Any:
    values, vectors = np.linalg.eig(A)
    return _complex(values), _complex(vectors)


@kernel
def linalg_eigvals(A: Any) -> Any:
    return _complex(np.linalg.eigvals(A))


def _complex(array: Any) -> Any:
    return array.astype(np.result_type(array.dtype, np.complex64), copy=False)


@kernel
def linalg_eigh(A: Any) -> Any:
    return tuple(np.linalg.eigh(A))


@kernel
def linalg_eigvalsh(A: Any) -> Any:
    return np.linalg.eigvalsh(A)


@kernel
def geqrf(input: Any) -> Any:
    transposed, tau = np.linalg.qr(input, "raw")
    return transposed.mT, tau


# --- least squares ------------------------------------------------------------------------------------------------


@kernel
def linalg_lstsq(A: Any, B: Any, rtol: float, is_vector: bool = False, with_residuals: bool = False) -> Any:
    """Solve by QR if all singular values are certainly above the tolerance, in a third of the time of an SVD."""
    from flambeau.operations.linalg.solves import least_squares

    inverse = _inverse_of_columns(A, rtol) if A.size and A.shape[-2] >= A.shape[-1] else None
    if inverse is None:
        return OPS["linalg_lstsq"].forward(namespace, A, B, rtol, is_vector, with_residuals)
    return least_squares(np, A, B, inverse, is_vector, with_residuals)


def _inverse_of_columns(A: Any, rtol: float) -> Any:
    """Return the pseudo-inverse of matrices with independent columns; None if the columns may be dependent."""
    Q, R = np.linalg.qr(A)
    try:
        inverse = np.linalg.inv(R)
    except np.linalg.LinAlgError:
        return None
    condition = np.linalg.norm(R, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))  # upper bound of A's condition number
    return inverse @ Q.mT.conj() if (condition * rtol < 1).all() else None


# --- distances ----------------------------------------------------------------------------------------------------


@kernel
def euclidean_dist(x1: Any, x2: Any) -> Any:
    left, right = _factors(x1, x2)
    distances = np.matmul(left, right.mT)
    np.clip(distances, 0, np.inf, distances)
    return np.sqrt(distances, distances)


def _factors(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return two matrices whose product is the squared distances.

    The product is `-2 * x1 @ x2.mT + sum(x1**2)[:, None] + sum(x2**2)[None, :]`, the sums along the last dimension.
    """
    left, right = (np.ones((*x.shape[:-1], x.shape[-1] + 2), x.dtype) for x in (x1, x2))
    np.multiply(x1, -2, out=left[..., :-2])
    np.vecdot(x1, x1, out=left[..., -2])
    right[..., :-2] = x2
    np.vecdot(x2, x2, out=right[..., -1])
    return left, right


_NEAR = 1e-7  # ratio of squared distance to squared norm below which the float64 product loses too many digits


@kernel
def pair_distances(input: Any, first: Any, second: Any) -> Any:
    count = len(input)
    if input.dtype != np.float32 or 4 * len(first) < max(count**2, 1) or not np.isfinite(input).all():
        return pair_distances_forward(np, input, first, second)
    points = input - input.mean(0, np.float64)
    left, right = _factors(points, points)
    limits = left[:, -2:-1] * _NEAR
    matrix, suspects = np.empty((count, count), np.float32), []
    for rows in chunks(count, count):
        squares = np.matmul(left[rows], right.T)
        near = squares < limits[rows]
        near[np.arange(len(near)), np.arange(len(near)) + rows.start] = False
        if near.any():
            suspects.append(np.argwhere(near) + np.array([rows.start, 0]))
        np.clip(squares, 0, np.inf, out=matrix[rows], casting="same_kind")
    np.sqrt(matrix, matrix)
    if suspects:
        row, column = np.concatenate(suspects).T
        matrix[row, column] = pair_distances_forward(np, input, row, column)
    return matrix.take(first * count + second)


# --- LAPACK through SciPy -----------------------------------------------------------------------------------------

_WORTHWHILE = 32  # matrix size from which LAPACK calls for each matrix, including SciPy's import, are faster than NumPy


def _lapack(routine: str, like: Any) -> Any:
    """Return the LAPACK routine for the array's dtype; None if SciPy is not installed."""
    try:
        from scipy.linalg import get_lapack_funcs
    except ImportError:
        return None
    return get_lapack_funcs((routine,), (like,))[0]


@kernel
def linalg_lu_factor_ex(A: Any) -> Any:
    factor = _lapack("getrf", A) if min(A.shape[-2:]) >= _WORTHWHILE else None
    if factor is None:
        return _lu_by_columns(A)
    LU, info = np.empty_like(A), np.empty(A.shape[:-2], np.int64)
    pivots = np.empty((*A.shape[:-2], min(A.shape[-2:])), np.int64)
    for index in np.ndindex(A.shape[:-2]):
        LU[index], swaps, info[index] = factor(A[index])
        pivots[index] = swaps + 1
    return LU, pivots, info


_PANEL = 32  # columns per block; after each block, a matrix product updates the remaining columns


def _lu_by_columns(A: Any) -> Any:
    """Compute LU factorizations with partial pivoting, column by column for the whole batch."""
    LU = A.reshape(prod(A.shape[:-2]), *A.shape[-2:]).copy()
    batch, rows, columns = LU.shape
    count = min(rows, columns)
    pivots, info, every = np.empty((batch, count), np.int64), np.zeros(batch, np.int64), np.arange(batch)
    for k in range(count):
        column = LU[:, k:, k]
        at = k + (np.abs(column.real) + np.abs(column.imag) if np.iscomplexobj(LU) else np.abs(column)).argmax(1)
        pivots[:, k] = at + 1
        lifted = LU[every, at]
        LU[every, at] = LU[:, k]
        LU[:, k] = lifted
        pivot = LU[:, k, k]
        info[(info == 0) & (pivot == 0)] = k + 1
        LU[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)[:, None]
        start, stop = k - k % _PANEL, min(k - k % _PANEL + _PANEL, count)
        LU[:, k + 1 :, k + 1 : stop] -= LU[:, k + 1 :, k, None] * LU[:, k, None, k + 1 : stop]
        if k + 1 == stop < columns:
            for row in range(start, stop):
                LU[:, row + 1 : stop, stop:] -= LU[:, row + 1 : stop, row, None] * LU[:, row, None, stop:]
            LU[:, stop:, stop:] -= LU[:, stop:, start:stop] @ LU[:, start:stop, stop:]
    return LU.reshape(A.shape), pivots.reshape(*A.shape[:-2], count), info.reshape(A.shape[:-2])


@kernel
def permutation_matrix(input: Any, pivots: Any, rows: int) -> Any:
    """Build permutation matrices by swapping entries of Python lists, which takes a tenth of the time of NumPy calls."""
    result = np.zeros((*pivots.shape[:-1], rows, rows), input.dtype)
    for index in np.ndindex(pivots.shape[:-1]):
        order = list(range(rows))
        for place, pivot in enumerate(pivots[index].tolist()):
            order[place], order[pivot - 1] = order[pivot - 1], order[place]
        result[index][order, range(rows)] = 1
    return result


@kernel
def linalg_solve_triangular(A: Any, B: Any, upper: bool, unitriangular: bool = False, left: bool = True) -> Any:
    if not left:
        return linalg_solve_triangular(A.mT, B.mT, not upper, unitriangular).mT
    solve = _lapack("trtrs", A) if A.shape[-1] >= _WORTHWHILE and B.size else None
    if solve is None:
        return _solve_triangular(A, B, upper, unitriangular)
    solution = np.empty_like(B)
    for index in np.ndindex(B.shape[:-2]):
        # LAPACK uses column-major order: the transpose of a row-major matrix needs no copy
        solution[index], info = solve(A[index].T, B[index], lower=upper, trans=1, unitdiag=unitriangular)
        if info:  # zero on the diagonal, for which LAPACK returns an error
            return _solve_triangular(A, B, upper, unitriangular)
    return solution


@kernel
def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Any:
    lower, higher = (L.mT.conj(), L) if upper else (L, L.mT.conj())
    return linalg_solve_triangular(higher, linalg_solve_triangular(lower, B, False), True)


def _solve_triangular(A: Any, B: Any, upper: bool, unitriangular: bool) -> Any:
    from flambeau.operations.linalg.factors import solve_triangular_forward

    return solve_triangular_forward(np, A, B, upper, unitriangular)


def _symmetric(step: str, A: Any, hermitian: bool) -> Any:
    routine = _lapack(("he" if hermitian and np.iscomplexobj(A) else "sy") + step, A)
    if routine is None:
        raise RuntimeError("the LDL factorization on the CPU requires SciPy: pip install scipy")
    return routine


@kernel
def linalg_ldl_factor_ex(A: Any, hermitian: bool = False) -> Any:
    factor = _symmetric("trf", A, hermitian)
    LD, pivots, info = np.empty_like(A), np.empty(A.shape[:-1], np.int64), np.empty(A.shape[:-2], np.int64)
    for index in np.ndindex(A.shape[:-2]):
        factored, swaps, info[index] = factor(A[index], lower=1)
        LD[index], pivots[index] = np.tril(factored), swaps
    return LD, pivots, info


@kernel
def linalg_ldl_solve(LD: Any, B: Any, pivots: Any, hermitian: bool = False) -> Any:
    solve = _symmetric("trs", LD, hermitian)
    solution = np.empty_like(B)
    for index in np.ndindex(B.shape[:-2]):
        solution[index] = solve(LD[index], pivots[index], B[index], lower=1)[0]
    return solution
