"""Triangular factors: LU with partial pivoting, LDL, and solutions with triangular matrices."""

from __future__ import annotations

from typing import Any

from ...engine.calls.facts import Autocast, Kind, Order
from ...engine.calls.named_results import make
from ...engine.calls.node_names import with_grad_fn
from ...engine.calls.op import op
from ...engine.calls.record import ONLY_KERNELS, Out
from ...engine.calls.wrappers import with_out
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from .checks import (
    adjoint,
    anywhere,
    broadcast_matrices,
    check_floating,
    check_matrix,
    check_same_dtype,
    check_square,
    failure,
    promote_square,
)

__all__ = [
    "cholesky_solve", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lu", "lu_arrays", "lu_factor", "lu_factor_ex", "lu_solve",
    "permutation", "solve_lower", "solve_triangular", "solve_triangular_forward", "solve_with_lu", "triangular",
]  # fmt: skip

# --- triangular systems -------------------------------------------------------------------------------------------

_SMALL = 16  # matrices up to this size are solved row by row, which is faster than recursion


def solve_lower(xp: Any, A: Any, B: Any, unitriangular: bool) -> Any:
    """Solve `A X = B` for the lower triangle of `A` recursively: the upper half of the rows first, then the lower half."""
    n = A.shape[-1]
    if n <= _SMALL:
        return _substitute(xp, A, B, unitriangular)
    half = n // 2
    above = solve_lower(xp, A[..., :half, :half], B[..., :half, :], unitriangular)
    remaining = B[..., half:, :] - xp.matmul(A[..., half:, :half], above)
    return xp.concat([above, solve_lower(xp, A[..., half:, half:], remaining, unitriangular)], axis=-2)


def _substitute(xp: Any, A: Any, B: Any, unitriangular: bool) -> Any:
    rows = []
    for i in range(A.shape[-1]):
        row = B[..., :1, :] if unitriangular else B[..., :1, :] / A[..., i : i + 1, i : i + 1]
        rows.append(row)
        B = B[..., 1:, :] - A[..., i + 1 :, i : i + 1] * row
    return xp.concat(rows, axis=-2) if rows else B


def solve_triangular_forward(xp: Any, A: Any, B: Any, /, upper: bool, unitriangular: bool = False, left: bool = True) -> Any:
    if not left:
        A, B = xp.matrix_transpose(A), xp.matrix_transpose(B)
        return xp.matrix_transpose(solve_triangular_forward(xp, A, B, not upper, unitriangular))
    if not upper:
        return solve_lower(xp, A, B, unitriangular)
    flipped = solve_lower(xp, xp.flip(A, axis=(-2, -1)), xp.flip(B, axis=-2), unitriangular)
    return xp.flip(flipped, axis=-2)


def _in_triangle(F: Any, A: Any, upper: bool, unitriangular: bool) -> Any:
    edge = int(unitriangular)
    return F.triu(A, edge) if upper else F.tril(A, -edge)


def _solve_triangular_grad(F: Any, g: Any, A: Any, out: Any, upper: bool, unitriangular: bool, left: bool, needs: Any) -> Any:
    for_B = F.linalg_solve_triangular(F.mH_(A), g, not upper, unitriangular, left)
    if not needs[0]:
        return None, for_B
    for_A = F.mm(for_B, F.mH_(out)) if left else F.mm(F.mH_(out), for_B)
    return _in_triangle(F, -for_A, upper, unitriangular), for_B


triangular = op(
    "linalg_solve_triangular", solve_triangular_forward,
    kind=Kind.DECOMPOSITION, promote="match", column_major=("out",), public=False, method=False,
    out=False, vjp=_solve_triangular_grad,
)  # fmt: skip


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def solve_triangular(input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """Return the solution `X` of `input X = B` (`X input = B` unless `left`); only the triangle chosen by `upper` is read.

    Args:
        input: triangular matrices `(*, n, n)`, floating-point or complex.
        B: the right-hand side.
        upper: whether to read the upper triangle; otherwise the lower one.
        left: whether to solve `input X = B`; otherwise `X input = B`.
        unitriangular: whether the diagonal is assumed to be 1, and not read.

    Shapes: input `(*, n, n)`, B `(*, n, k)` or, unless `left`, `(*, k, n)`; batches broadcast.

    >>> torch.linalg.solve_triangular(torch.tensor([[2.0, 0], [1, 1]]), torch.tensor([[2.0], [3]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    name = "linalg.solve_triangular"
    check_square(name, input)
    check_matrix(name, B, "B")
    _check_solvable(name, input, B, left)
    if input.dtype.category < dtypes.FLOATING or input.dtype in dtypes.HALF:
        raise NotImplementedError(f"\"triangular_solve_cpu\" not implemented for '{input.dtype.legacy_name}'")
    if input.dtype is not B.dtype:
        common = dtypes.promote_types(input.dtype, B.dtype)
        input, B = input.to(common), B.to(common)
    input, B = broadcast_matrices(input, B)
    return triangular(input, B, upper, unitriangular, left)


def _check_solvable(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    a, b = A._array.shape, B._array.shape
    if b[-2 if left else -1] != a[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )


# --- Cholesky factors ---------------------------------------------------------------------------------------------


def _cholesky_solve_forward(xp: Any, B: Any, L: Any, /, upper: bool = False) -> Any:
    lower = adjoint(xp, L) if upper else L
    return solve_triangular_forward(xp, adjoint(xp, lower), solve_lower(xp, lower, B, False), True)


def _cholesky_solve_grad(F: Any, g: Any, L: Any, out: Any, upper: bool, needs: Any) -> Any:
    """Compute the gradients of `B` and `L`.  As in PyTorch, the triangle of `L` that is not read also has a gradient."""
    for_B = F.cholesky_solve(g, L, upper)
    if not needs[1]:
        return for_B, None
    half = F.mm(for_B, F.mH_(out))
    for_A = half + F.mH_(half)
    return for_B, -(F.mm(L, for_A) if upper else F.mm(for_A, L))


_cholesky_solve = op(
    "cholesky_solve", _cholesky_solve_forward,
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32},
    promote="match", column_major=("out",), public=False, method=False, out=False,
    vjp=_cholesky_solve_grad,
)  # fmt: skip


def cholesky_solve(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    B, L = broadcast_matrices(B, L)
    return _cholesky_solve(B, L, upper)


# --- LU -----------------------------------------------------------------------------------------------------------


def lu_arrays(xp: Any, A: Any) -> tuple[Any, Any, Any]:
    """Compute an LU factorization with partial pivoting.

    Return `(LU, pivots, info)`: both factors in one matrix, for each row the row that it was swapped with, and the first zero
    pivot, or 0 if there is none.  Rows and pivots are counted from 1, as in LAPACK.
    """
    rows, columns = A.shape[-2:]
    row, column = xp.arange(rows), xp.arange(columns)
    info = xp.zeros(A.shape[:-2], dtype=xp.int64)
    LU, pivots = A, []
    for k in range(min(rows, columns)):
        at = k + xp.argmax(_size(xp, LU[..., k:, k]), axis=-1, keepdims=True)
        pivots.append(at + 1)
        LU = take_rows(xp, LU, xp.where(row == k, at, xp.where(row == at, k, row)))
        pivot = LU[..., k : k + 1, k : k + 1]
        info = xp.where((info == 0) & (pivot[..., 0, 0] == 0), k + 1, info)
        factor = LU[..., :, k : k + 1] / xp.where(pivot == 0, xp.ones_like(pivot), pivot)
        below = xp.expand_dims(row > k, axis=-1)
        LU = xp.where(below & (column == k), factor, xp.where(below & (column > k), LU - factor * LU[..., k : k + 1, :], LU))
    swaps = xp.astype(xp.concat(pivots, axis=-1), xp.int64) if pivots else xp.zeros((*A.shape[:-2], 0), dtype=xp.int64)
    return LU, swaps, info


def _size(xp: Any, array: Any) -> Any:
    """Return the magnitude by which LAPACK compares pivots: `|real| + |imag|` for complex numbers."""
    if xp.isdtype(array.dtype, "complex floating"):
        return xp.abs(xp.real(array)) + xp.abs(xp.imag(array))
    return xp.abs(array)


def take_rows(xp: Any, matrices: Any, order: Any) -> Any:
    index = xp.broadcast_to(xp.expand_dims(order, axis=-1), (*matrices.shape[:-2], order.shape[-1], matrices.shape[-1]))
    return xp.take_along_axis(matrices, index, axis=-2)


def row_order(xp: Any, pivots: Any, rows: int) -> Any:
    """Return the permutation of the rows that results from the swaps `pivots`."""
    row = xp.arange(rows)
    order = xp.broadcast_to(row, (*pivots.shape[:-1], rows))
    for k in range(pivots.shape[-1]):
        at = pivots[..., k : k + 1] - 1
        order = xp.take_along_axis(order, xp.where(row == k, at, xp.where(row == at, k, row)), axis=-1)
    return order


def solve_with_lu(xp: Any, LU: Any, pivots: Any, B: Any, triangular: Any = solve_triangular_forward) -> Any:
    """Solve `A X = B` for arrays, given the LU factors of `A`; a zero pivot gives infinities and NaN, not an error."""
    permuted = take_rows(xp, B, row_order(xp, pivots, LU.shape[-1]))
    return triangular(xp, LU, triangular(xp, LU, permuted, False, True), True)


def _permutation_forward(xp: Any, input: Any, pivots: Any, /, rows: int) -> Any:
    order = row_order(xp, pivots, rows)
    return xp.astype(xp.expand_dims(xp.arange(rows), axis=-1) == xp.expand_dims(order, axis=-2), input.dtype)


permutation = op(
    "permutation_matrix", _permutation_forward,
    kind=Kind.FACTORY, keeps_dtype=("pivots",), public=False, method=False, out=False,
    doc="Return the matrix `P` in `A = P L U`, in the dtype of `input`, given the row swaps `pivots`.",
)  # fmt: skip


def _lu_grad(F: Any, g: Any, out: Any) -> Any:
    """Return the gradient of `A = P L U`; the square leading blocks of L and U are computed separately from the rest."""
    LU, pivots, _ = out
    g = g[0]
    rows, columns = LU.shape[-2:]
    k = min(rows, columns)
    L1, U1 = _block(F, LU, k, k), _block(F, LU, k, k)
    gL, gU = _block(F, g, k, k), _block(F, g, k, k)
    in_L = F.mm(_unit_lower_h(F, L1), F.tril(gL, -1))
    in_U = F.mm(F.triu(gU), F.mH_(F.triu(U1)))
    if columns > rows:
        U2, gU2 = F.getitem_slice(LU, (..., slice(k, None))), F.getitem_slice(g, (..., slice(k, None)))
        in_L = in_L - F.mm(gU2, F.mH_(U2))
    if rows > columns:
        below = (..., slice(k, None), slice(None))
        L2, gL2 = F.getitem_slice(LU, below), F.getitem_slice(g, below)
        in_U = in_U - F.mm(F.mH_(L2), gL2)
    inner = F.tril(in_L, -1) + F.triu(in_U)
    # Each block of the gradient is L^-H (...) U^-H; the blocks that are not square lack one of the two factors.
    half = F.linalg_solve_triangular(F.mH_(L1), inner, True, True)
    gradient = F.linalg_solve_triangular(F.mH_(U1), half, False, False, False)
    if columns > rows:
        gradient = F.cat([gradient, F.linalg_solve_triangular(F.mH_(L1), gU2, True, True)], len(g.shape) - 1)
    if rows > columns:
        gradient = F.cat([gradient, F.linalg_solve_triangular(F.mH_(U1), gL2, False, False, False)], len(g.shape) - 2)
    return (F.mm(F.permutation_matrix(LU, pivots, rows), gradient),)


def _block(F: Any, matrices: Any, rows: int, columns: int) -> Any:
    return F.getitem_slice(matrices, (..., slice(0, rows), slice(0, columns)))


def _unit_lower_h(F: Any, L: Any) -> Any:
    """Return the conjugate transpose of the lower triangle of `L`, with ones on the diagonal."""
    return F.mH_(F.tril(L, -1) + F.triu(F.tril(F.ones_of(L))))


_lu_factor = op(
    "linalg_lu_factor_ex", lambda xp, A: lu_arrays(xp, A),
    kind=Kind.DECOMPOSITION, results=("LU", "pivots", "info"),
    result_promotions=("same", "index", "index"), column_major=("LU",), public=False, method=False, out=False, vjp=_lu_grad,
)  # fmt: skip
_LUFactor, _LUFactorEx = make("linalg_lu_factor", ("LU", "pivots")), make("linalg_lu_factor_ex", ("LU", "pivots", "info"))
_LU = make("linalg_lu", ("P", "L", "U"))


def _factored(name: str, A: Any, pivot: bool) -> Any:
    if isinstance(A, Tensor) and A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check_matrix(name, A)
    if A.dtype.category < dtypes.FLOATING or A.dtype in dtypes.HALF:
        raise NotImplementedError(f"\"lu_cpu\" not implemented for '{A.dtype.legacy_name}'")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return _lu_factor(A)


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Return `lu_factor` and `info`: 0, or the number, from 1, of the first zero on the diagonal of U.

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        pivot: whether to swap rows; False is not supported on the CPU.
        check_errors: whether to raise RuntimeError for a zero on the diagonal of U.
    """
    LU, pivots, info = _factored("torch.lu_factor", A, pivot)
    if check_errors:
        _refuse_zero_pivot("torch.linalg.lu_factor_ex", info)
    return _LUFactorEx((LU, pivots.to(dtypes.int32), info.to(dtypes.int32)))


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION)
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """Compute the LU factorization with partial pivoting, in the compact form that `lu_solve` accepts.

    Return `(LU, pivots)`.  U is the upper triangle of `LU`; L is the part below the diagonal, with ones on the diagonal.  Row
    `i` was swapped with row `pivots[i] - 1`.

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        pivot: whether to swap rows; False is not supported on the CPU.

    Raises:
        RuntimeError: U has a zero on its diagonal.

    >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2], [2, 0]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """
    LU, pivots, info = _factored("torch.lu_factor", A, pivot)
    _refuse_zero_pivot("torch.linalg.lu_factor", info)
    return _LUFactor((LU, pivots.to(dtypes.int32)))


def _refuse_zero_pivot(name: str, info: Tensor) -> None:
    zero_pivot = failure(info)
    if zero_pivot:
        where, k = zero_pivot
        raise RuntimeError(
            f"{name}: {where}U[{k},{k}] is zero and using it on lu_solve would result in a division by zero. If "
            "you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )


def _triangles_forward(xp: Any, input: Any) -> Any:
    rows, columns = input.shape[-2:]
    k = min(rows, columns)
    lower, upper = xp.tril(input[..., :, :k], k=-1), xp.triu(input[..., :k, :])
    return lower + xp.eye(rows, k, dtype=input.dtype), upper


_triangles = op(
    "linalg_triangles", _triangles_forward,
    kind=Kind.DECOMPOSITION, order=Order.ROW_MAJOR, results=("L", "U"), public=False, method=False, out=False,
    grad_fn="LuUnpackBackward0",
    vjp=lambda F, g, input_shape: (F.pad_to(F.tril(g[0], -1), input_shape) + F.pad_to(F.triu(g[1]), input_shape),),
)  # fmt: skip


def unpacked(LU: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return `P`, `L` and `U` from the compact form `(LU, pivots)`."""
    L, U = _triangles(LU)
    return permutation(LU.detach(), pivots.long(), LU._array.shape[-2]), L, U


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION)
@with_grad_fn("LinalgLuBackward0")
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Return the permutation `P`, unit lower triangular `L` and upper triangular `U` of `A = P L U`.

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        pivot: whether to swap rows; False is not supported on the CPU.

    >>> torch.linalg.lu(torch.tensor([[1.0, 2], [2, 0]])).U
    tensor([[2., 0.],
            [0., 2.]])
    """
    LU, pivots, _ = _factored("linalg.lu", A, pivot)
    P, L, U = unpacked(LU, pivots)
    return _LU((P, L, U))


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast=Autocast.WHOLE)
@with_grad_fn("LinalgLuSolveBackward0")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Solve `A X = B` (`X A = B` unless `left`), given `lu_factor` of `A`; with `adjoint`, `A` is replaced by `A^H`.

    Args:
        LU: the factors of matrices `(*, n, n)`, from `lu_factor`.
        pivots: the row swaps `(*, n)`, int32, from `lu_factor`.
        B: the right-hand side `(*, n, k)` or, unless `left`, `(*, k, n)`, with the dtype of `LU`.
        left: whether to solve `A X = B`; otherwise `X A = B`.
        adjoint: whether to solve with `A^H` in place of `A`.

    Raises:
        RuntimeError: shapes or dtypes do not match, or a pivot is out of range.
    """
    name = "linalg.lu_solve"
    check_square(name, LU, "LU")
    check_floating(name, LU, "linalg.lu_solve_cpu")
    check_matrix(name, B, "B")
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{LU.dtype.legacy_name} and B of type {B.dtype.legacy_name} instead"
        )
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    _check_solvable(name, LU, B, left)
    for bad, bound in ((pivots < 1, "greater or equal to 1"), (pivots > LU.shape[-2], "smaller or equal to LU.size(-2)")):
        if anywhere(bad):
            raise RuntimeError(f"Pivots given to lu_solve must all be {bound}. Did you properly pass the result of lu_factor?")
    # X A = B is equivalent to A^H X^H = B^H
    return _lu_solution(LU, pivots, B, adjoint) if left else _lu_solution(LU, pivots, B.mH, not adjoint).mH


def _lu_solution(LU: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    P = permutation(LU.detach(), pivots.long(), LU.shape[-1])
    if adjoint:
        solution = _solve(LU.mH, _solve(LU.mH, B, upper=False), upper=True, unitriangular=True)
        return (solution.mT @ P.mT).mT  # equal to `P @ solution`, but in column-major order
    return _solve(LU, _solve(LU, P.mT @ B, upper=False, unitriangular=True), upper=True)


def _solve(A: Tensor, B: Tensor, upper: bool, unitriangular: bool = False) -> Tensor:
    A, B = broadcast_matrices(A, B)
    return triangular(A, B, upper, unitriangular)


# --- LDL ----------------------------------------------------------------------------------------------------------


def _only_kernels(name: str) -> Any:
    """Raise an error: the operation is computed by kernels only.  `requires=ONLY_KERNELS` prevents calls without a kernel."""
    raise AssertionError(f"{name} has no forward; a kernel of the backend or of the CPU computes it")


# LDL is not in the array API: a kernel of the backend or of the CPU computes it, whatever functions the library has.
_ldl_factor = op(
    "linalg_ldl_factor_ex", lambda xp, A, /, hermitian=False: _only_kernels("linalg_ldl_factor_ex"),
    kind=Kind.DECOMPOSITION,
    results=("LD", "pivots", "info"), result_promotions=("same", "index", "index"), column_major=("LD",),
    requires=ONLY_KERNELS, public=False, method=False, out=False,
)  # fmt: skip
_ldl_solve = op(
    "linalg_ldl_solve", lambda xp, LD, B, pivots, /, hermitian=False: _only_kernels("linalg_ldl_solve"),
    kind=Kind.DECOMPOSITION,
    keeps_dtype=("pivots",), promote="match", column_major=("out",), requires=ONLY_KERNELS,
    public=False, method=False, out=False,
)  # fmt: skip
_LDLFactor, _LDLFactorEx = make("linalg_ldl_factor", ("LD", "pivots")), make("linalg_ldl_factor_ex", ("LD", "pivots", "info"))


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def ldl_factor_ex(input: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """Return `ldl_factor` and `info`: 0, or the number, from 1, of the first zero block of D.

    Args:
        input: matrices `(*, n, n)`, floating-point or complex.
        hermitian: whether complex matrices are Hermitian, not symmetric.
        check_errors: whether to raise RuntimeError for a zero block of D.
    """
    promote_square("torch.linalg.ldl_factor_ex", input, "ldl_factor_kernel_cpu")
    LD, pivots, info = _ldl_factor(input.detach(), hermitian)
    zero_block = failure(info) if check_errors else None
    if zero_block:
        raise RuntimeError(f"torch.linalg.ldl_factor_ex: {zero_block[0]}The diagonal block {zero_block[1]} of D is zero.")
    return _LDLFactorEx((LD, pivots.to(dtypes.int32), info.to(dtypes.int32)))


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION)
def ldl_factor(input: Tensor, *, hermitian: bool = False) -> Any:
    """Compute the LDL factorization (Bunch and Kaufman, 1977) of symmetric or Hermitian matrices, in LAPACK's compact form.

    Only the lower triangle is read.  On the CPU it needs SciPy: `pip install scipy`.

    Args:
        input: matrices `(*, n, n)`, floating-point or complex.
        hermitian: whether complex matrices are Hermitian, not symmetric.

    Raises:
        RuntimeError: a block of D is zero.
    """
    LD, pivots, _ = ldl_factor_ex(input, hermitian=hermitian, check_errors=True)
    return _LDLFactor((LD, pivots))


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """Solve `A X = B`, given `ldl_factor` of `A`.

    Args:
        LD: the factors of matrices `(*, n, n)`, from `ldl_factor`.
        pivots: the row swaps `(*, n)`, from `ldl_factor`.
        B: the right-hand side `(*, n, k)`, with the dtype of `LD`.
        hermitian: the value given to `ldl_factor`.
    """
    promote_square("torch.linalg.ldl_solve", LD, "ldl_solve_kernel_cpu")
    check_matrix("torch.linalg.ldl_solve", B, "B")
    check_same_dtype("torch.linalg.ldl_solve", LD, B)
    _check_solvable("torch.linalg.ldl_solve", LD, B, left=True)
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots.shape)} instead"
        )
    if pivots.dtype.category != dtypes.INTEGER:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype.legacy_name}")
    LD, B = broadcast_matrices(LD, B)
    if not B.numel():
        return B.new_empty(B.shape)
    pivots = pivots.expand(LD.shape[:-1])
    return _ldl_solve(LD.detach(), B.detach(), pivots.long(), hermitian)
