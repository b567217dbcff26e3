"""Older names of functions of `torch.linalg`: factorizations, solvers, inverses and low-rank decompositions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....engine.calls.dispatch import require_dtype
from ....engine.calls.facts import Autocast, Kind
from ....engine.calls.named_results import make
from ....engine.calls.op import composite
from ....engine.calls.record import Out
from ....engine.devices.warning import warn_once
from ....engine.tensors.tensor import Tensor
from ....engine.values import dtypes
from ....engine.values.constants import contiguous_format

__all__ = ["deprecate"]

_SLogDet, _QR, _SVD = make("slogdet", ("sign", "logabsdet")), make("qr", ("Q", "R")), make("svd", ("U", "S", "V"))
_LUUnpack, _LUWithInfo = make("lu_unpack", ("P", "L", "U")), make("_lu_with_info", ("LU", "pivots", "info"))
_TriangularSolve = make("triangular_solve", ("solution", "cloned_coefficient"))


def deprecate(call: str, instead: str) -> None:
    name, _, of = call.partition("(")
    warn_once(
        f"torch.{name} is deprecated in favor of torch.linalg.{instead.partition('(')[0]} and will be removed in a future "
        f"PyTorch release.\ntorch.{name}({of}\nshould be replaced with\ntorch.linalg.{instead}"
    )


# --- factorizations -----------------------------------------------------------------------------------------------


@composite(
    out=Out.ROW_MAJOR | Out.UNCHECKED, grad_fn="CholeskyBackward0", kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}
)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of positive-definite matrices; see `torch.linalg.cholesky`.

    Args:
        input: symmetric or Hermitian positive-definite matrices `(*, n, n)`; one triangle is read.
        upper: whether to return the upper triangular factor instead of the lower one.
        out: a tensor that the result is written to.

    Raises:
        torch.linalg.LinAlgError: a matrix is not positive-definite.

    >>> torch.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    from ..checks import check_square
    from ..decompositions import cholesky_of, refuse_indefinite

    deprecate("cholesky(A)", "cholesky(A)")
    check_square("cholesky", input)
    if input.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"cholesky_cpu\" not implemented for '{input.dtype.legacy_name}'")
    factor, info = cholesky_of("cholesky", input, upper)
    refuse_indefinite("cholesky", info)
    return factor


def _refuse_dtype(kernel: str, input: Tensor) -> None:
    if input.dtype.category < dtypes.FLOATING or input.dtype in dtypes.HALF:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.legacy_name}'")


@composite(out=Out.ROW_MAJOR | Out.UNCHECKED, grad_fn="CholeskySolveBackward0")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """Solve `A X = input`, where `input2` is the Cholesky factor of `A`.

    Args:
        input: the right-hand sides `(*, n, k)`.
        input2: the triangular factors `(*, n, n)`.
        upper: whether `input2` is an upper triangular factor `U`, with `A = U^H U`, or a lower one `L`, with `A = L L^H`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> torch.cholesky_solve(torch.tensor([[4.0], [5.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[1.],
            [5.]])
    """
    from ..factors import cholesky_solve

    _check_system(input, input2, "u")
    _refuse_dtype("cholesky_solve_cpu", input)
    return cholesky_solve(input, input2, upper)


def _check_system(b: Tensor, A: Tensor, name: str) -> None:
    for label, matrix in (("b", b), (name, A)):
        if matrix.ndim < 2:
            raise RuntimeError(f"{label} should have at least 2 dimensions, but has {matrix.ndim} dimensions instead")
    if b.dtype is not A.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b.dtype.legacy_name} and A of type "
            f"{A.dtype.legacy_name} instead."
        )
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices")
    if b.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {A.shape[-1]} by {A.shape[-1]} but "
            f"each b matrix is {b.shape[-2]} by {b.shape[-1]}"
        )


@composite(out=Out.UNCHECKED, grad_fn="CholeskyInverseBackward0", kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """Return the inverse of the matrix `A`, given its Cholesky factor.

    Args:
        input: the triangular factors `(*, n, n)`.
        upper: whether `input` is an upper triangular factor `U`, with `A = U^H U`, or a lower one `L`, with `A = L L^H`.
        out: a tensor that the result is written to.

    >>> torch.cholesky_inverse(torch.tensor([[2.0, 0.0], [1.0, 2.0]]))
    tensor([[ 0.3125, -0.1250],
            [-0.1250,  0.2500]])
    """
    from ..checks import check_square
    from ..solves import refuse_singular

    check_square("cholesky_inverse", input)
    _refuse_dtype("cholesky_inverse_out_cpu", input)
    zero = input.detach().diagonal(0, -2, -1) == 0
    if zero.numel():
        info = zero.any(-1) * (zero.long().argmax(-1) + 1)
        refuse_singular("cholesky_inverse", info)
    eye = input.new_ones(input.shape[-2:]).tril().triu().expand(input.shape)
    return cholesky_solve(eye, input, upper)


@composite(out=Out.OWN_DTYPE, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def qr(input: Tensor, some: bool = True) -> Any:
    """Return the QR factorization, reduced if `some`, else complete; see `torch.linalg.qr`.

    Args:
        some: whether `Q` has only `min(m, n)` columns.
    """
    from .. import namespace as linalg

    deprecate("qr(A, some)", "qr(A, 'reduced' if some else 'complete')")
    return _QR(linalg.qr(input, "reduced" if some else "complete"))


@composite(out=Out.OWN_DTYPE, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Return `(U, S, V)`, the factors of `input = U diag(S) V^H`; without `compute_uv`, U and V are zeros.

    Args:
        some: whether `U` and `V` have only `min(m, n)` columns.
        compute_uv: whether to compute `U` and `V`.
    """
    from .. import namespace as linalg

    if input.ndim < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions instead")
    if compute_uv:
        U, S, Vh = linalg.svd(input, full_matrices=not some)
        return _SVD((U, S, Vh.mH))
    rows, columns = input.shape[-2:]
    batch = input.shape[:-2]
    U, Vh = (input.new_zeros((*batch, n, n)) for n in (rows, columns))
    return _SVD((U, linalg.svdvals(input), Vh.mH))


@composite(out=True)
def geqrf(input: Tensor) -> Any:
    """Compute a QR factorization in LAPACK's format: R, with the Householder vectors below its diagonal, and the factors tau.

    `torch.linalg.householder_product` computes Q from them.
    """
    from ..decompositions import geqrf

    return geqrf(input)


@composite(out=Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """Return the first columns of a product of Householder reflections; see `torch.linalg.householder_product`.

    Args:
        input: the Householder vectors that `torch.geqrf` returns.
        input2: the factors `tau` that it returns.
    """
    from ..namespace import householder_product

    return householder_product(input, input2)


@composite(
    out=Out.OWN_DTYPE | Out.UNCHECKED, grad_fn="OrmqrBackward0", kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}
)
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Multiply `input3` by the matrix Q that `torch.geqrf` returns as `input` and `input2`.

    The result is `Q input3` if `left`, else `input3 Q`; with `transpose`, Q is replaced by `Q^H`.

    Args:
        input, input2: the Householder vectors and the factors `tau`.
        input3: a matrix.
        left: whether Q is the left factor.
        transpose: whether to multiply by `Q^H`.

    Raises:
        RuntimeError: the shapes or dtypes do not match.
    """
    from ..checks import check_floating
    from ..decompositions import reflect

    tau, other = input2, input3
    for name, matrix in (("input", input), ("other", other)):
        if matrix.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    if not input.ndim == other.ndim == tau.ndim + 1:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, and tau one less, but "
            f"got {other.ndim}, {input.ndim} and {tau.ndim}"
        )
    if not input.dtype is other.dtype is tau.dtype:
        raise RuntimeError(
            "torch.ormqr: Expected input, tau and other to have the same dtype, but they have "
            f"{input.dtype.legacy_name}, {tau.dtype.legacy_name} and {other.dtype.legacy_name}"
        )
    if tau.shape[-1] != min(other.shape[-2 if left else -1], input.shape[-1]):
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])")
    dim = -2 if left else -1
    if other.shape[dim] < tau.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{dim}] must be greater than or equal to tau.shape[-1]")
    if other.shape[dim] != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{dim}] must be equal to input.shape[-2]")
    require_dtype("ormqr_cpu", input, "inexact")
    check_floating("torch.ormqr", input, "ormqr_cpu")
    if left:
        return reflect(input, tau, other, adjoint=transpose)
    return reflect(input, tau, other.mH, adjoint=not transpose).contiguous().mH


# --- LU and triangular systems ------------------------------------------------------------------------------------


@composite(kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, home="torch.functional")
def lu(A: Tensor, pivot: bool = True, get_infos: Any = False, out: Any = None) -> Any:
    """Return `(LU, pivots)` of `torch.linalg.lu_factor`; with `get_infos`, a named tuple that also contains `info`.

    Args:
        A: the matrices `(*, m, n)`.
        pivot: whether rows are exchanged; without, the factorization can fail and is less accurate.
        get_infos: whether to return `info` as well: an integer for each matrix, 0 if its factorization succeeded.
        out: tensors that the results are written to.

    >>> LU, pivots = torch.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> LU
    tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]])
    """
    from .. import namespace as linalg

    deprecate("lu(A)", "lu_factor(A)")
    factors = linalg.lu_factor_ex(A, pivot=pivot)
    result = tuple(factors) if get_infos else tuple(factors[:2])
    if out is None:
        return _LUWithInfo(result) if get_infos else result
    from ....engine.calls import outputs

    outputs.write("lu", Out(0), out, result)
    return out


@composite(out=Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solve `A X = input`, given the LU factorization of `A`.

    Args:
        input: the right-hand sides `(*, n, k)`.
        LU_data, LU_pivots: the results of `torch.linalg.lu_factor(A)`.
        out: a tensor that the result is written to.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> torch.lu_solve(torch.tensor([[2.0], [4.0]]), LU, pivots)
    tensor([[1.],
            [1.]])
    """
    from .. import namespace as linalg

    deprecate("lu_solve(B, LU, pivots)", "lu_solve(LU, pivots, B)")
    return linalg.lu_solve(LU_data, LU_pivots, input)


@composite(method=False, out=Out.OWN_DTYPE, grad_fn="LuUnpackBackward0", kind=Kind.DECOMPOSITION)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """Return `P`, `L` and `U` from the compact result of `torch.linalg.lu_factor`.

    `P` is empty without `unpack_pivots`, `L` and `U` are empty without `unpack_data`.

    Args:
        LU_data, LU_pivots: the results of `torch.linalg.lu_factor(A)`, where `A = P L U`.
        unpack_data: whether to compute `L` and `U`.
        unpack_pivots: whether to compute the permutation matrices `P`.
        out: tensors that the results are written to.

    Raises:
        RuntimeError: `LU_pivots` is not int32 or has an element that is not the number of a row.

    >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]])))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 2.]])
    """
    from ..checks import anywhere
    from ..factors import unpacked

    if LU_data.ndim < 2:
        raise RuntimeError(f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead")
    if unpack_pivots and LU_pivots.dtype is not dtypes.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    if unpack_pivots and anywhere((LU_pivots < 1) | (LU_pivots > LU_data.shape[-2])):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the "
            "result of lu_factor?"
        )
    P, L, U = unpacked(LU_data, LU_pivots)
    empty = LU_data.new_empty(0)
    return _LUUnpack((P if unpack_pivots else empty, L if unpack_data else empty, U if unpack_data else empty))


@composite(out=Out.OWN_DTYPE, grad_fn="TriangularSolveBackward0", kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def triangular_solve(input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """Return the solution of `A X = input` (`A^T X = input` if `transpose`) for triangular `A`, and a copy of `A`.

    Args:
        input: the right-hand side `(*, n, k)`.
        A: triangular matrices `(*, n, n)`.
        upper: whether to read the upper triangle of `A`; otherwise the lower one.
        transpose: whether to solve `A^T X = input`.
        unitriangular: whether the diagonal is assumed to be 1, and not read.
    """
    from ..namespace import solve_triangular

    deprecate("triangular_solve(B, A)", "solve_triangular(A, B, upper=True)")
    for name, matrix in (("b", input), ("A", A)):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {matrix.ndim} "
                "dimensions instead"
            )
    _check_system(input, A, "A")
    _refuse_dtype("triangular_solve_cpu", input)
    coefficients = A.mT if transpose else A
    solution = solve_triangular(coefficients, input, upper=upper != transpose, unitriangular=unitriangular)
    return _TriangularSolve((solution, A.mT.clone(memory_format=contiguous_format).mT))


# --- inverses, determinants, functions of matrices ----------------------------------------------------------------


@composite(out=Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def inverse(input: Tensor) -> Tensor:
    """Return the inverses of square matrices; see `torch.linalg.inv`."""
    from ..namespace import inv

    return inv(input)


@composite(kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudo-inverse: `torch.linalg.pinv` with `rcond` 1e-15.

    Args:
        rcond: singular values up to `rcond` times the largest count as zero.
    """
    from ..namespace import pinv

    return pinv(input, rcond)


@composite(kind=Kind.DECOMPOSITION)
def det(input: Tensor) -> Tensor:
    """Return the determinants of square matrices; see `torch.linalg.det`."""
    from .. import namespace as linalg

    return linalg.det(input)


@composite(kind=Kind.DECOMPOSITION)
def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of determinants: NaN for a negative determinant, `-inf` for 0."""
    from .. import namespace as linalg
    from ..checks import promote_square

    promote_square("logdet", input)
    sign: Tensor
    value: Tensor
    sign, value = linalg.slogdet(input)
    if input.is_complex():
        return sign.log() + value
    return value.masked_fill(sign == -1, math.nan)


@composite(out=Out.OWN_DTYPE, kind=Kind.DECOMPOSITION)
def slogdet(input: Tensor) -> Any:
    """Return the signs of determinants and the logarithms of their absolute values; see `torch.linalg.slogdet`."""
    from .. import namespace as linalg

    return _SLogDet(linalg.slogdet(input))


@composite(out=Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Return the `n`-th power of square matrices; see `torch.linalg.matrix_power`.

    Args:
        n: the exponent; if negative, the power of the inverses is returned.
    """
    from .. import namespace as linalg

    return linalg.matrix_power(input, n)


@composite(kind=Kind.DECOMPOSITION)
def matrix_exp(input: Tensor) -> Tensor:
    """Compute the exponential of square matrices; see `torch.linalg.matrix_exp`."""
    from .. import namespace as linalg

    return linalg.matrix_exp(input)


# --- low-rank decompositions --------------------------------------------------------------------------------------


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Return `q` orthonormal columns that nearly span the range of `A` (Halko, Martinsson, Tropp 2009, algorithm 4.4)."""
    from ...sampling import randn
    from ..namespace import qr

    dtype = A.dtype if A.is_complex() or A.dtype in (dtypes.float16, dtypes.float64) else dtypes.float32
    Q: Tensor = qr(A @ randn(A.shape[-1], q, dtype=dtype, device=A.device)).Q
    for _ in range(niter):
        Q = qr(A @ qr(A.mH @ Q).Q).Q
    return Q


@composite(method=False, kind=Kind.DECOMPOSITION, random=True, home="torch._lowrank")
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate the `q` largest singular values of `A`, or of `A - M` if `M` is given, and their vectors, as `(U, S, V)`.

    The algorithm is randomized.

    Args:
        A: matrices `(*, m, n)`.
        q: the number of singular values; None for 6.
        niter: the number of power iterations, which increase the accuracy; None for 2.
        M: a tensor that can be broadcast to the shape of `A`.
    """
    from ..namespace import svd

    q, niter = 6 if q is None else q, 2 if niter is None else niter
    A = A if M is None else A - M.expand(A.shape)
    rows, columns = A.shape[-2:]
    if rows < columns:
        U, S, V = svd_lowrank(A.mH, q, niter)
        return V, S, U
    Q = _basis(A, q, niter)
    U, S, Vh = svd(Q.mH @ A, full_matrices=False)
    return Q @ U, S, Vh.mH


@composite(method=False, kind=Kind.DECOMPOSITION, random=True, home="torch._lowrank")
def pca_lowrank(A: Tensor, q: int | None = None, center: Any = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate the first `q` principal components of the rows of `A`, as `(U, S, V)`; `center` subtracts column means.

    Args:
        A: matrices `(*, m, n)` of `m` observations.
        q: the number of components; None for `min(6, m, n)`.
        center: whether to subtract the mean of each column.
        niter: the number of power iterations, which increase the accuracy.

    Raises:
        ValueError: `q` is above `min(m, n)` or negative, or `niter` is negative.
    """
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


@composite(method=False, kind=Kind.DECOMPOSITION, home="torch._lobpcg")
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the `k` largest (or smallest) eigenvalues of `A x = lambda B x` for symmetric `A` and positive-definite `B`.

    Unlike PyTorch's iteration, this computes all eigenvalues by `torch.linalg.eigh`.

    Args:
        A: symmetric or Hermitian matrices `(*, n, n)`.
        k: the number of eigenvalues; None for the number of columns of `X`, or for 1 without `X`.
        B: positive-definite matrices `(*, n, n)`; None for the identity.
        X: a tensor whose last size is the default of `k`; its elements are ignored.
        n: the number of columns of PyTorch's initial guess; `A` must have at least `3 * n` rows (`3 * k` for None).
        iK, niter, tol, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams: ignored.
        largest: whether to return the largest eigenvalues (also for None) or the smallest.

    Raises:
        ValueError: `A` has too few rows.

    >>> torch.lobpcg(torch.diag(torch.tensor([1.0, 5.0, 3.0])))[0]
    tensor([5.])
    """
    from .. import namespace as linalg
    from ..checks import check_square

    check_square("lobpcg", A)
    k = (1 if X is None else X.shape[-1]) if k is None else k
    if k < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {k}: [{A.shape[-1]}, {k}]")
    if A.shape[-1] < 3 * (k if n is None else n):
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={A.shape[-1]}) is smaller than 3 x the "
            f"number of requested eigenpairs (={k if n is None else n})"
        )
    if A.is_floating_point() or A.is_complex():  # `eigh` refuses others
        A = (A + A.mH) / 2  # `eigh` reads the lower triangle alone, PyTorch's iteration reads both
    if B is None:
        values, vectors = linalg.eigh(A)
    else:
        L = linalg.cholesky(B)
        half = linalg.solve_triangular(L, A, upper=False)
        values, vectors = linalg.eigh(linalg.solve_triangular(L, half.mH, upper=False))
        vectors = linalg.solve_triangular(L.mH, vectors, upper=True)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


# --- legacy names -------------------------------------------------------------------------------------------------


@composite(out=True, kind=Kind.DECOMPOSITION, home="torch._linalg_utils")
def symeig(input: Tensor, eigenvectors: bool = False, upper: bool = True) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues of symmetric matrices, ascending, and eigenvectors (or zeros); a legacy name of `linalg.eigh`.

    Args:
        eigenvectors: whether to compute the eigenvectors.
        upper: whether to read the upper triangle; otherwise the lower one.
    """
    from .. import namespace as linalg

    half = "U" if upper else "L"
    if eigenvectors:
        return tuple(linalg.eigh(input, half))
    return linalg.eigvalsh(input, half), input.new_zeros(input.shape)


@composite(out=True, kind=Kind.DECOMPOSITION)
def gels(input: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    """Return the least-squares solution of `A X = input` for `A` of full rank, and the QR factorization of `A`.

    This is a legacy function, replaced by `linalg.lstsq`.  For `A` of shape `(m, n)`, the solution has `max(m, n)` rows, as in
    LAPACK.  The squares of the rows after the first `n` add up to the squared norms of the residuals.

    Args:
        input: the right-hand sides `(m, k)`.
        A: a matrix `(m, n)` of full rank.
        out: tensors that the results are written to.

    >>> torch.gels(torch.tensor([[2.0], [4.0]]), torch.tensor([[1.0, 0.0], [0.0, 2.0]]))[0]
    tensor([[2.],
            [2.]])
    """
    from .. import namespace as linalg

    rows, columns = A.shape
    if rows < columns:
        return linalg.lstsq(A, input).solution, geqrf(A.detach()).a
    Q, R = linalg.qr(A, "complete")
    projected = Q.mH @ input
    solved = linalg.solve_triangular(R[:columns], projected[:columns], upper=True)
    from ...joining import cat

    return cat([solved, projected[columns:]]), geqrf(A.detach()).a


@composite(kind=Kind.DECOMPOSITION)
def btrifact(A: Tensor, info: Any = None, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """Return the LU factorization of a batch of matrices as `(LU, pivots)`; a legacy name of `linalg.lu_factor`.

    Args:
        A: the matrices `(*, n, n)`.
        info: an integer tensor that is overwritten with 0 for each matrix whose factorization succeeded.
        pivot: whether rows are exchanged.

    >>> LU, pivots = torch.btrifact(torch.tensor([[[2.0, 1.0], [4.0, 4.0]]]))
    >>> LU
    tensor([[[ 4.0000,  4.0000],
             [ 0.5000, -1.0000]]])
    """
    LU, pivots, infos = lu(A, pivot, get_infos=True)
    if isinstance(info, Tensor):
        info.resize_(infos.shape).copy_(infos)
    return LU, pivots


@composite(kind=Kind.DECOMPOSITION)
def btrisolve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solve `A x = b` for a batch of vectors, given the result of `btrifact(A)`; a legacy name of `linalg.lu_solve`.

    Args:
        b: the right-hand sides `(*, n)`.
        LU_data, LU_pivots: the results of `btrifact(A)`.

    >>> A = torch.tensor([[[2.0, 0.0], [0.0, 4.0]]])
    >>> torch.btrisolve(torch.tensor([[2.0, 4.0]]), *torch.btrifact(A))
    tensor([[1., 1.]])
    """
    return lu_solve(b.unsqueeze(-1), LU_data, LU_pivots).squeeze(-1)


_REMOVED = "This function was deprecated since version 1.9 and is now removed. "
_HINTS = {
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking complex "
           "tensors.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed and "
             "does not return the LU factorization.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n`torch.linalg.lstsq` has reversed arguments and "
             "does not return the QR decomposition in the returned tuple.",
    "matrix_rank": "Please use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
                   "`torch.linalg.matrix_rank()` to 'hermitian'.",
}  # fmt: skip


def _removed(name: str) -> None:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        raise RuntimeError(_REMOVED + _HINTS[name])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raise a RuntimeError that names the replacement of the removed function `{name}`."
    composite(function, method=name != "matrix_rank", kind=Kind.DECOMPOSITION, home="torch._linalg_utils")


for _name in _HINTS:
    _removed(_name)
