"""Cholesky, QR, singular values, eigenvalues, Householder products.

Derivatives: Giles, "Collected matrix derivative results for forward and reverse mode" (2008); Seeger et al.,
"Auto-differentiating linear algebra" (2017).
"""

from __future__ import annotations

from typing import Any

from ...engine.calls.dispatch import require_dtype
from ...engine.calls.facts import Autocast, Kind
from ...engine.calls.named_results import make
from ...engine.calls.node_names import with_grad_fn
from ...engine.calls.op import op
from ...engine.calls.record import Out
from ...engine.calls.wrappers import with_out
from ...engine.tape.grad_mode import is_grad_enabled
from ...engine.tape.node import Error
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from .checks import LinAlgError, adjoint, check_floating, check_matrix, check_square, failure, is_numerical_failure, ones_where
from .factors import solve_triangular

__all__ = [
    "cholesky", "cholesky_ex", "cholesky_of", "eig", "eigh", "eigvals", "eigvalsh", "geqrf", "householder_product", "qr", "svd",
    "svdvals",
]  # fmt: skip


def _row(F: Any, vectors: Any) -> Any:
    return F.reshape(vectors, (*vectors.shape[:-1], 1, vectors.shape[-1]))


def _column(F: Any, vectors: Any) -> Any:
    return F.reshape(vectors, (*vectors.shape, 1))


def _on_diagonal(F: Any, matrices: Any) -> Any:
    """Set all elements off the diagonal to 0."""
    return F.triu(F.tril(matrices))


def _over_differences(F: Any, numerator: Any, difference: Any) -> Any:
    """Return `numerator / difference`, or 0 where both are 0, as on the diagonal and for equal eigenvalues."""
    return numerator / (difference + ones_where(F, difference, (difference == 0) & (numerator == 0)))


# --- Cholesky -----------------------------------------------------------------------------------------------------


def _cholesky_forward(xp: Any, A: Any, /, upper: bool = False) -> tuple[Any, Any]:
    A = adjoint(xp, A) if upper else A
    try:
        factor, info = xp.linalg.cholesky(A), xp.zeros(A.shape[:-2], dtype=xp.int64)
    except Exception as error:
        if not is_numerical_failure(error):
            raise
        factor, info = _cholesky_by_columns(xp, A)
    return adjoint(xp, factor) if upper else factor, info


def _cholesky_by_columns(xp: Any, A: Any) -> tuple[Any, Any]:
    """Compute Cholesky factors column by column, and `info`: the number, from 1, of the first non-positive pivot, or 0."""
    n = A.shape[-1]
    info = xp.zeros(A.shape[:-2], dtype=xp.int64)
    columns = []
    for j in range(n):
        pivot = xp.real(A[..., :1, :1]) if xp.isdtype(A.dtype, "complex floating") else A[..., :1, :1]
        good = pivot > 0
        info = xp.where((info == 0) & ~good[..., 0, 0], j + 1, info)
        column = A[..., :, :1] / xp.sqrt(xp.where(good, pivot, xp.ones_like(pivot)))
        columns.append(xp.concat([xp.zeros((*A.shape[:-2], j, 1), dtype=A.dtype), column], axis=-2))
        below = column[..., 1:, :]
        beside = xp.matrix_transpose(below)
        A = A[..., 1:, 1:] - below * (xp.conj(beside) if xp.isdtype(A.dtype, "complex floating") else beside)
    return xp.concat(columns, axis=-1), info


def _cholesky_grad(F: Any, g: Any, out: Any, upper: bool) -> Any:
    L, for_L = (F.mH_(out[0]), F.mH_(g[0])) if upper else (out[0], g[0])
    inner = F.mm(F.mH_(L), for_L)
    half = (F.tril(inner) + F.mH_(F.tril(inner, -1))) / 2
    left = F.linalg_solve_triangular(F.mH_(L), half, True)
    return (F.linalg_solve_triangular(L, left, False, False, False),)


_cholesky = op(
    "linalg_cholesky_ex", _cholesky_forward,
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, results=("L", "info"), result_promotions=("same", "index"),
    column_major=("L",), requires="linalg", public=False, method=False, out=False, vjp=_cholesky_grad,
)  # fmt: skip
_CholeskyEx = make("linalg_cholesky_ex", ("L", "info"))


def cholesky_of(name: str, A: Any, upper: bool) -> tuple[Tensor, Tensor]:
    check_square(name, A)
    check_floating(name, A, "cholesky_cpu")
    return _cholesky(A, upper)  # type: ignore[no-any-return]  # has several results


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Return the Cholesky factor and `info`: 0, or the order of the leading minor that is not positive-definite.

    Args:
        input: Hermitian matrices `(*, n, n)`, floating-point or complex.
        upper: whether to return the upper triangular factor `U`.
        check_errors: whether to raise LinAlgError for a matrix that is not positive-definite.

    >>> torch.linalg.cholesky_ex(torch.tensor([[4.0, 0], [0, -1]])).info
    tensor(2, dtype=torch.int32)
    """
    factor, info = cholesky_of("linalg.cholesky", input, upper)
    if check_errors:
        refuse_indefinite("linalg.cholesky_ex", info)
    return _CholeskyEx((factor, info.to(dtypes.int32)))


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of positive-definite matrices: `L` in `input = L L^H` or, if `upper`, `U` in `input = U^H U`.

    Only the corresponding triangle of `input` is read.

    Args:
        input: Hermitian positive-definite matrices `(*, n, n)`, floating-point or complex.
        upper: whether to return the upper triangular factor `U`.

    Raises:
        LinAlgError: a matrix is not positive-definite.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2], [2, 2]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    factor, info = cholesky_of("linalg.cholesky", input, upper)
    refuse_indefinite("linalg.cholesky", info)
    return factor


def refuse_indefinite(name: str, info: Tensor) -> None:
    first_failure = failure(info)
    if first_failure:
        raise LinAlgError(
            f"{name}: {first_failure[0]}The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {first_failure[1]} is not positive-definite)."
        )


# --- QR -----------------------------------------------------------------------------------------------------------


def _qr_grad(F: Any, g: Any, out: Any) -> Any:
    Q, R = out
    gQ, gR = g
    k = Q.shape[-1]
    if R.shape[-2] > R.shape[-1]:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    beside = None
    # Q depends only on the first k columns of A.  The other columns of A are Q R2.
    if R.shape[-1] > k:
        R2, gR2 = F.getitem_slice(R, (..., slice(k, None))), F.getitem_slice(gR, (..., slice(k, None)))
        R, gR = F.getitem_slice(R, (..., slice(0, k))), F.getitem_slice(gR, (..., slice(0, k)))
        beside = F.mm(Q, gR2)
        gQ = gQ + F.mm(Q, F.mm(R2, F.mH_(gR2)))
    inner = F.mm(gR, F.mH_(R)) - F.mm(F.mH_(Q), gQ)
    half = (F.triu(inner) + F.triu(inner, 1)) / 2
    left = F.mm(Q, half + F.mH_(half)) + gQ
    gradient = F.mH_(F.linalg_solve_triangular(R, F.mH_(left), True))
    return (gradient if beside is None else F.cat([gradient, beside], len(gradient.shape) - 1),)


_qr = op(
    "linalg_qr", lambda xp, A, /, mode="reduced": tuple(xp.linalg.qr(A, mode=mode)),
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, results=("Q", "R"),
    column_major=("Q", "R"), requires="linalg", public=False, method=False, out=False, vjp=_qr_grad,
)  # fmt: skip
_QR = make("linalg_qr", ("Q", "R"))
_NO_DERIVATIVE = (
    "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
    "linalg.qr(A, mode='reduced') if you are going to require gradients."
)


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Return `Q`, with orthonormal columns, and upper triangular `R` such that `A = Q R`.

    `mode` is "reduced", "complete" (`Q` is square) or "r" (`Q` is empty).

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        mode: "reduced" for `Q` with `min(m, n)` columns, "complete" for square `Q`, or "r" for an empty `Q`.

    >>> Q, R = torch.linalg.qr(torch.tensor([[3.0, 1], [4, 2]]))
    >>> torch.allclose(Q @ R, torch.tensor([[3.0, 1], [4, 2]]))
    True
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    check_matrix("linalg.qr", A)
    check_floating("linalg.qr", A, "geqrf_cpu")
    if mode != "r":
        return _QR(_qr(A, mode))
    R = _qr(A.detach(), "reduced")[1]
    if A._requires_grad and is_grad_enabled():
        R._node, R._requires_grad = Error.before(R, _NO_DERIVATIVE), True
    return _QR((A.new_empty(0), R))


# --- reflections --------------------------------------------------------------------------------------------------


def _geqrf_forward(xp: Any, input: Any) -> tuple[Any, Any]:
    """Compute a QR factorization by Householder reflections.

    As in LAPACK, one matrix holds R and, below its diagonal, the vectors of the reflections; the other result is `tau`.
    """
    rows, columns = input.shape[-2:]
    count = min(rows, columns)
    result, taus = input, []
    row, column = xp.arange(rows), xp.arange(columns)
    is_complex = xp.isdtype(input.dtype, "complex floating")
    for k in range(count):
        below = xp.expand_dims(row > k, axis=-1)
        x = result[..., :, k : k + 1]
        head = result[..., k : k + 1, k : k + 1]
        tail = xp.where(below, x, xp.zeros_like(x))
        size = xp.sum(xp.abs(tail) ** 2, axis=-2, keepdims=True)
        real = xp.real(head) if is_complex else head
        norm = xp.sqrt(xp.abs(head) ** 2 + size)
        beta = xp.where(real > 0, -norm, norm)
        nothing = (size == 0) & ((xp.imag(head) == 0) if is_complex else (head == head))
        safe = xp.where(nothing, xp.ones_like(beta), beta)
        tau = xp.where(nothing, xp.zeros_like(head), (safe - head) / safe)
        v = tail / xp.where(nothing, xp.ones_like(head), head - safe) + xp.astype(xp.expand_dims(row == k, axis=-1), input.dtype)
        v_h = xp.conj(xp.matrix_transpose(v)) if is_complex else xp.matrix_transpose(v)
        taus.append(tau[..., 0])
        conjugate = xp.conj(tau) if is_complex else tau
        reflected = result - conjugate * xp.matmul(v, xp.matmul(v_h, result))
        result = xp.where(column > k, reflected, result)
        at_head = xp.expand_dims(row == k, axis=-1)
        newest = xp.where(below, v, xp.where(at_head, xp.where(nothing, head, xp.astype(safe, input.dtype)), x))
        result = xp.where(column == k, newest, result)
    return result, xp.concat(taus, axis=-1) if taus else xp.zeros((*input.shape[:-2], 0), dtype=input.dtype)


def _geqrf_grad(F: Any, g: Any) -> Any:
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


_geqrf = op(
    "geqrf", _geqrf_forward,
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32},
    results=("a", "tau"), column_major=("a",), public=False, method=False, out=False, vjp=_geqrf_grad,
)  # fmt: skip


def geqrf(input: Tensor) -> Any:
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    if input.dtype.category < dtypes.FLOATING or input.dtype in dtypes.HALF:
        raise NotImplementedError(f"\"geqrf_cpu\" not implemented for '{input.dtype.legacy_name}'")
    return _geqrf(input)


def _check_reflections(name: str, input: Any, tau: Any) -> None:
    name = f"torch.{name}"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} "
            f"and input.ndim is equal to {input.ndim}"
        )
    if input.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if input.dtype is not tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype.legacy_name} does not match input dtype {input.dtype.legacy_name}")


def reflect(input: Tensor, tau: Tensor, other: Tensor, adjoint: bool = False) -> Tensor:
    """Return `Q other` or, with `adjoint`, `Q^H other`.  `Q = H1 H2 ...` is the product of the reflections stored in `input`.

    `Q = I - V T V^H` with a triangular T (Schreiber & Van Loan 1989, "A storage-efficient WY representation for products of
    Householder transformations"). It is computed on the transpose of `other`, so that the result is column-major.
    """
    rows, count = input.shape[-2], tau.shape[-1]
    vectors = input[..., :count].tril(-1) + input.new_ones(rows, count).tril().triu()
    overlaps = tau.unsqueeze(-1) * (vectors.mH @ vectors).triu(1)
    factors = solve_triangular(overlaps, tau.diag_embed(), upper=True, unitriangular=True)
    transposed: Tensor = other.mT
    transposed = transposed - (transposed @ vectors.conj()) @ (factors.conj() if adjoint else factors.mT) @ vectors.mT
    return transposed.mT


@with_out(
    Out.UNCHECKED,
    kind=Kind.DECOMPOSITION,
    autocast={"cpu": Autocast.FLOAT32},
    schema=("linalg_householder_product(Tensor input, Tensor tau) -> Tensor"),
)
@with_grad_fn("LinalgHouseholderProductBackward0")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """Return the first n columns of the product of the reflections `I - tau v v^H` that `geqrf` computed.

    Args:
        input: matrices `(*, m, n)` with the vectors `v` below the diagonal, as returned by `torch.geqrf`.
        tau: the factors of the reflections, `(*, k)` with `k <= n`.

    Shapes: input `(*, m, n)` with `m >= n`, tau `(*, k)` with `k <= n`; the result has the shape of `input`.
    """
    _check_reflections("linalg.householder_product", input, tau)
    require_dtype("orgqr_cpu", input, "inexact")
    check_floating("linalg.householder_product", input, "orgqr_cpu")
    rows, columns = input.shape[-2:]
    start = input.new_ones(columns, rows).tril().triu().mT.expand(input.shape)
    return reflect(input, tau, start)


# --- singular values ----------------------------------------------------------------------------------------------


def _svd_grad(F: Any, g: Any, out: Any) -> Any:
    U, S, Vh = out
    gU, gS, gVh = g
    k = S.shape[-1]
    U, gU = (m if m.shape[-1] == k else F.getitem_slice(m, (..., slice(0, k))) for m in (U, gU))
    Vh, gVh = (m if m.shape[-2] == k else F.getitem_slice(m, (..., slice(0, k), slice(None))) for m in (Vh, gVh))
    row, column = _row(F, S), _column(F, S)
    in_U, in_V = _skew(F, F.mm(F.mH_(U), gU)), _skew(F, F.mm(Vh, F.mH_(gVh)))
    difference = row * row - column * column
    ones = _on_diagonal(F, F.ones_of(difference))
    inner = _over_differences(F, in_U * row + column * in_V, difference + ones) + ones * _row(F, gS)
    if F.is_complex(U):  # the phase of each column of U, with its row of Vh, is arbitrary
        inner = inner + ones * _over_differences(F, in_U, row * 2)
    rows, columns = U.shape[-2], Vh.shape[-1]
    if rows > k:
        scaled = _over_differences(F, gU, row)
        left = F.mm(U, inner) + scaled - F.mm(U, F.mm(F.mH_(U), scaled))
        return (F.mm(left, Vh),)
    if columns > k:
        scaled = _over_differences(F, gVh, column)
        right = F.mm(inner, Vh) + scaled - F.mm(F.mm(scaled, F.mH_(Vh)), Vh)
        return (F.mm(U, right),)
    return (F.mm(U, F.mm(inner, Vh)),)


def _skew(F: Any, matrices: Any) -> Any:
    return matrices - F.mH_(matrices)


_svd = op(
    "linalg_svd", lambda xp, A, /, full_matrices=True: tuple(xp.linalg.svd(A, full_matrices=full_matrices)),
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32},
    results=("U", "S", "Vh"), result_promotions=("same", "real", "same"), column_major=("U", "Vh"), requires="linalg",
    public=False, method=False, out=False, vjp=_svd_grad,
)  # fmt: skip


def _svdvals_grad(F: Any, g: Any, A: Any) -> Any:
    U, _, Vh = F.linalg_svd(A, False)
    return F.mm(U * _row(F, g), Vh)


_svdvals = op(
    "linalg_svdvals", lambda xp, A: xp.linalg.svdvals(A),
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, promote="real", requires="linalg", public=False,
    method=False, out=False, grad_fn="LinalgSvdBackward0", A=_svdvals_grad,
)  # fmt: skip


def _check_svd(A: Any, driver: str | None) -> None:
    check_matrix("linalg.svd", A)
    check_floating("linalg.svd", A, "linalg_svd_cpu")
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


def _converging(name: str, routine: Any, *args: Any) -> Any:
    try:
        return routine(*args)
    except RuntimeError as error:
        if not is_numerical_failure(error.__context__):
            raise
        problem = "The algorithm failed to converge because the input matrix contained non-finite values."
        raise LinAlgError(f"{name}: {problem}") from error


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """Return `U`, `S` and `Vh` such that `A = U diag(S) Vh`, with `S` in descending order.

    Without `full_matrices`, `U` has only `min(m, n)` columns, and `Vh` only `min(m, n)` rows.

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        full_matrices: whether `U` and `Vh` are square, or have `min(m, n)` columns and rows.
        driver: must be None; PyTorch accepts names of cuSOLVER algorithms for CUDA tensors.

    Raises:
        LinAlgError: the algorithm does not converge.

    >>> torch.linalg.svd(torch.tensor([[0.0, 2], [1, 0]])).S
    tensor([2., 1.])
    """
    _check_svd(A, driver)
    return _converging("linalg.svd", _svd, A, full_matrices)


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Return the singular values, in descending order.

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        driver: must be None; PyTorch accepts names of cuSOLVER algorithms for CUDA tensors.

    >>> torch.linalg.svdvals(torch.tensor([[0.0, 2], [1, 0]]))
    tensor([2., 1.])
    """
    _check_svd(A, driver)
    return _converging("linalg.svd", _svdvals, A)  # type: ignore[no-any-return]  # a backend's routine


# --- eigenvalues of Hermitian matrices ----------------------------------------------------------------------------


def _hermitian(xp: Any, A: Any) -> Any:
    """Return the Hermitian matrices with the same lower triangles as `A`."""
    return xp.tril(A) + adjoint(xp, xp.tril(A, k=-1))


def _eigh_grad(F: Any, g: Any, out: Any) -> Any:
    L, V = out
    inner = _skew(F, F.mm(F.mH_(V), g[1])) / 2  # V is unitary: `V^H dV` has no Hermitian part
    inner = _over_differences(F, inner - _on_diagonal(F, inner), _row(F, L) - _column(F, L))
    inner = inner + _on_diagonal(F, F.ones_of(inner)) * _row(F, g[0])
    return (F.mm(V, F.mm(inner, F.mH_(V))),)


_eigh = op(
    "linalg_eigh", lambda xp, A: tuple(xp.linalg.eigh(_hermitian(xp, A))),
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, results=("eigenvalues", "eigenvectors"),
    result_promotions=("real", "same"), column_major=("eigenvectors",), requires="linalg", public=False, method=False, out=False,
    vjp=_eigh_grad,
)  # fmt: skip


def _eigvalsh_grad(F: Any, g: Any, A: Any) -> Any:
    V = F.linalg_eigh(A)[1]
    return F.mm(V * _row(F, g), F.mH_(V))


_eigvalsh = op(
    "linalg_eigvalsh", lambda xp, A: xp.linalg.eigvalsh(_hermitian(xp, A)),
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, promote="real", requires="linalg",
    public=False, method=False, out=False, grad_fn="LinalgEighBackward0", A=_eigvalsh_grad,
)  # fmt: skip


def _hermitian_input(A: Any, UPLO: str) -> Tensor:
    check_square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if A.dtype.category < dtypes.FLOATING or A.dtype in dtypes.HALF:
        raise NotImplementedError(f"\"linalg_eigh_cpu\" not implemented for '{A.dtype.legacy_name}'")
    return A.mH if UPLO.upper() == "U" else A  # type: ignore[no-any-return]  # a property


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def eigh(input: Tensor, UPLO: str = "L") -> Any:
    """Return the eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices; only triangle `UPLO` is read.

    Args:
        input: Hermitian matrices `(*, n, n)`, floating-point or complex.
        UPLO: "L" to read the lower triangle, or "U" to read the upper one.

    Raises:
        LinAlgError: the algorithm does not converge.

    >>> torch.linalg.eigh(torch.tensor([[0.0, 1], [1, 0]])).eigenvalues
    tensor([-1.,  1.])
    """
    return _converging("linalg.eigh", _eigh, _hermitian_input(input, UPLO))


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of Hermitian matrices, in ascending order.

    Args:
        input: Hermitian matrices `(*, n, n)`, floating-point or complex.
        UPLO: "L" to read the lower triangle, or "U" to read the upper one.

    >>> torch.linalg.eigvalsh(torch.tensor([[0.0, 1], [1, 0]]))
    tensor([-1.,  1.])
    """
    return _converging("linalg.eigh", _eigvalsh, _hermitian_input(input, UPLO))  # type: ignore[no-any-return]  # a backend's routine


# --- eigenvalues --------------------------------------------------------------------------------------------------


def _eig_grad(F: Any, g: Any, out: Any) -> Any:
    """Return the gradient, without the part that would change the length of the eigenvectors: they are normalized."""
    L, V = out
    inner = F.mm(F.mH_(V), g[1])
    real = (inner + F.conj(inner)) / 2
    ones = F.ones_of(inner)
    along = _on_diagonal(F, real)  # the part along each eigenvector, which would change its length
    inner = inner - F.mm(F.mm(F.mH_(V), V), along)
    inner = _over_differences(F, inner - _on_diagonal(F, inner), F.conj(_row(F, L) - _column(F, L)))
    inner = inner + _on_diagonal(F, ones) * _row(F, g[0])
    return (_similar(F, V, inner),)


def _similar(F: Any, V: Any, inner: Any) -> Any:
    """Return `V^-H inner V^H`."""
    return F.linalg_solve_ex(F.mH_(V), F.mm(inner, F.mH_(V)))[0]


def _eigvals_grad(F: Any, g: Any, A: Any) -> Any:
    V = F.linalg_eig(A)[1]
    return _similar(F, V, _on_diagonal(F, F.ones_of(V)) * _row(F, g))


_eig = op(
    "linalg_eig", lambda xp, A: tuple(xp.linalg.eig(A)),
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, promote="complex", results=("eigenvalues", "eigenvectors"),
    column_major=("eigenvectors",), requires="linalg.eig", public=False, method=False, out=False, vjp=_eig_grad,
)  # fmt: skip
_eigvals = op(
    "linalg_eigvals", lambda xp, A: xp.linalg.eig(A)[0],
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, promote="complex",
    requires="linalg.eig", public=False, method=False, out=False, grad_fn="LinalgEigBackward0", A=_eigvals_grad,
)  # fmt: skip


def _check_eig(name: str, A: Any) -> None:
    check_square(name, A)
    if A.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"Unknown Complex ScalarType for {A.dtype.legacy_name}")
    check_floating(name, A, "linalg_eig_out_cpu")


def _of_finite(routine: Any, A: Tensor) -> Any:
    try:
        return routine(A)
    except RuntimeError as error:
        if not is_numerical_failure(error.__context__):
            raise
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.") from error


@with_out(Out.UNCHECKED)
def eig(input: Tensor) -> Any:
    """Return the complex eigenvalues, in no particular order, and normalized eigenvectors of square matrices.

    >>> torch.linalg.eig(torch.tensor([[2.0, 0], [0, 3]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
    _check_eig("linalg.eig", input)
    return _of_finite(_eig, input)


@with_out(Out.RECORDED | Out.UNCHECKED)
def eigvals(input: Tensor) -> Tensor:
    """Return the complex eigenvalues of square matrices."""
    _check_eig("linalg.eigvals", input)
    return _of_finite(_eigvals, input)  # type: ignore[no-any-return]  # a backend's routine
