"""Linear equations, inverses, determinants, least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...engine.calls.dispatch import require_constant
from ...engine.calls.facts import Autocast, Kind
from ...engine.calls.named_results import make
from ...engine.calls.node_names import merge_nodes
from ...engine.calls.op import composite, op
from ...engine.calls.record import Out
from ...engine.calls.wrappers import with_out
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ..indexing.standard import any_element
from .checks import (
    LinAlgError,
    anywhere,
    broadcast_matrices,
    check_matrix,
    check_same_dtype,
    failure,
    is_numerical_failure,
    promote_square,
)
from .decompositions import svd, svdvals
from .factors import lu_arrays, solve_triangular_forward, solve_with_lu

__all__ = [
    "det", "inv", "inv_ex", "lstsq", "pinv", "slogdet", "solve", "solve_arrays", "solve_ex", "tensorinv", "tensorsolve",
    "tolerance",
]  # fmt: skip

# --- equations and inverses ---------------------------------------------------------------------------------------


def solve_arrays(
    xp: Any, A: Any, B: Any, routine: Any, factorize: Any = lu_arrays, triangular: Any = solve_triangular_forward
) -> tuple[Any, Any]:
    """Return the solution and, for each matrix, the number (from 1) of its first zero pivot, or 0 if it has none.

    `routine` computes the solution.  If it fails, the solution and the pivots are those of an LU factorization.  A backend can
    pass its kernels for that: `factorize(xp, A)`, and `triangular(xp, A, B, upper, unitriangular)`.
    """
    try:
        solution = routine()
        if not any_element(xp, ~xp.isfinite(solution)):
            return solution, xp.zeros(solution.shape[:-2], dtype=xp.int64)
    except Exception as error:
        if not is_numerical_failure(error):
            raise
    LU, pivots, info = factorize(xp, A)
    return solve_with_lu(xp, LU, pivots, B, triangular), info


def _solve_forward(xp: Any, A: Any, B: Any) -> tuple[Any, Any]:
    return solve_arrays(xp, A, B, lambda: xp.linalg.solve(A, B))


def _solve_grad(F: Any, g: Any, A: Any, out: Any, needs: Any) -> Any:
    for_B = F.linalg_solve_ex(F.mH_(A), g[0])[0]
    return -F.mm(for_B, F.mH_(out[0])) if needs[0] else None, for_B


_solve = op(
    "linalg_solve_ex", _solve_forward,
    kind=Kind.DECOMPOSITION, promote="match", results=("result", "info"), result_promotions=("same", "index"),
    column_major=("result",), requires="linalg", public=False, method=False, out=False, vjp=_solve_grad,
)  # fmt: skip


def _inv_forward(xp: Any, A: Any) -> tuple[Any, Any]:
    eye = xp.broadcast_to(xp.eye(A.shape[-1], dtype=A.dtype), A.shape)
    return solve_arrays(xp, A, eye, lambda: xp.linalg.inv(A))


def _inv_grad(F: Any, g: Any, out: Any) -> Any:
    inverse = F.mH_(out[0])
    return (-F.mm(F.mm(inverse, g[0]), inverse),)


_inv = op(
    "linalg_inv_ex", _inv_forward,
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32},
    results=("inverse", "info"), result_promotions=("same", "index"), column_major=("inverse",),
    requires="linalg", public=False, method=False, out=False, vjp=_inv_grad,
)  # fmt: skip
_SolveEx, _InvEx = make("linalg_solve_ex", ("result", "info")), make("linalg_inv_ex", ("inverse", "info"))


def _solution(A: Any, B: Any, left: bool) -> tuple[Tensor, Tensor]:
    name = "linalg.solve"
    promote_square(name, A, "lu_cpu")
    check_same_dtype(name, A, B)
    is_vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    operands = A, B
    if is_vector:
        if not left:
            raise RuntimeError(
                "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this "
                "case linalg.solve is equivalent to B / A.squeeze(-1)"
            )
        B = B.unsqueeze(-1)
    check_matrix(name, B, "B")
    a, b = A.shape, B.shape
    if b[-2 if left else -1] != a[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )
    A, B = broadcast_matrices(A, B)
    result, info = _solve(A, B) if left else _solve(A.mT, B.mT)
    if is_vector or not left:
        result = merge_nodes(_to_column_major(result.squeeze(-1)) if is_vector else result.mT, "LinalgSolveExBackward0", operands)
    return result, info


def _to_column_major(vectors: Tensor) -> Tensor:
    """Return the solution for vectors with the strides of PyTorch's result: column-major in the last two dimensions."""
    return vectors.mT.contiguous().mT if vectors.ndim > 1 else vectors


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """Return the result of `solve`, and `info`: for each matrix 0, or the number (from 1) of the zero pivot if it is singular.

    Args:
        A: square matrices, floating-point or complex.
        B: the right-hand side; see `solve` for the shapes.
        left: whether to solve `A X = B`; otherwise `X A = B`.
        check_errors: whether to raise LinAlgError for a singular matrix.
    """
    result, info = _solution(A, B, left)
    if check_errors:
        _refuse_singular_system("torch.linalg.solve_ex", info)
    return _SolveEx((result, info.to(dtypes.int32)))


@with_out(Out.OWN_DTYPE | Out.ROW_MAJOR | Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Return the solution `X` of `A X = B` (`X A = B` unless `left`) for square matrices.

    Args:
        A: square matrices, floating-point or complex.
        B: the right-hand side.
        left: whether to solve `A X = B`; otherwise `X A = B`.

    Shapes: A `(*, n, n)`, B `(n,)`, `(*, n)` with the batch of A, or `(*, n, k)`; batches broadcast.

    Raises:
        LinAlgError: a matrix is singular.

    >>> torch.linalg.solve(torch.tensor([[2.0, 0], [0, 4]]), torch.tensor([2.0, 2]))
    tensor([1.0000, 0.5000])
    """
    result, info = _solution(A, B, left)
    _refuse_singular_system("torch.linalg.solve", info)
    return result


def _refuse_singular_system(name: str, info: Tensor) -> None:
    first_failure = failure(info)
    if first_failure:
        raise LinAlgError(f"{name}: {first_failure[0]}The solver failed because the input matrix is singular.")


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """Return the result of `inv`, and `info`: for each matrix 0, or the number (from 1) of the zero pivot if it is singular.

    Args:
        A: matrices `(*, n, n)`, floating-point or complex.
        check_errors: whether to raise LinAlgError for a singular matrix.
    """
    promote_square("linalg.inv", A)
    inverse, info = _inv(A)
    if check_errors:
        refuse_singular("linalg.inv_ex", info)
    return _InvEx((inverse, info.to(dtypes.int32)))


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def inv(A: Tensor) -> Tensor:
    """Return the inverses of square matrices.

    Args:
        A: matrices `(*, n, n)`, floating-point or complex.

    Raises:
        LinAlgError: a matrix is singular.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0], [0, 4]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    promote_square("linalg.inv", A)
    inverse: Tensor
    inverse, info = _inv(A)
    refuse_singular("linalg.inv", info)
    return inverse


def refuse_singular(name: str, info: Tensor) -> None:
    first_failure = failure(info)
    if first_failure:
        raise LinAlgError(
            f"{name}: {first_failure[0]}The diagonal element {first_failure[1]} is zero, the inversion could not be completed "
            "because the input matrix is singular."
        )


# --- determinants -------------------------------------------------------------------------------------------------


@composite(public=False, method=False, kind=Kind.DECOMPOSITION)
def cofactors(A: Tensor) -> Tensor:
    """Return the conjugate cofactor matrices: the conjugate transpose of `det(A) A^-1`, also defined for singular `A`."""
    value = _det(A)
    if not anywhere(value.detach() == 0):
        return _inv(A)[0].mH * value.conj().unsqueeze(-1).unsqueeze(-1)  # type: ignore[no-any-return]  # has several results
    U, S, Vh = svd(A)
    products = [_product_without(S, i) for i in range(S.shape[-1])]
    phase = (_det(U) * _det(Vh)).conj().unsqueeze(-1).unsqueeze(-1)
    from ..joining import stack

    return phase * ((U * stack(products, -1).unsqueeze(-2)) @ Vh)  # type: ignore[no-any-return]  # has several results


def _product_without(values: Tensor, index: int) -> Tensor:
    return values[..., :index].prod(-1) * values[..., index + 1 :].prod(-1)


def _det_grad(F: Any, g: Any, A: Any) -> Any:
    return F.reshape(g, (*g.shape, 1, 1)) * F.cofactors(A)


_det = op(
    "linalg_det", lambda xp, A: xp.linalg.det(A),
    kind=Kind.DECOMPOSITION, requires="linalg", public=False, method=False, out=False, A=_det_grad,
)  # fmt: skip


def _slogdet_grad(F: Any, g: Any, A: Any, out: Any) -> Any:
    phase = g[0] * F.conj(out[0])  # imaginary part of `phase`: the gradient with respect to the angle of `sign`
    factor = g[1] + (phase - F.conj(phase)) / 2
    return (F.reshape(factor, (*factor.shape, 1, 1)) * F.mH_(F.linalg_inv_ex(A)[0]),)


_slogdet = op(
    "linalg_slogdet", lambda xp, A: tuple(xp.linalg.slogdet(A)),
    kind=Kind.DECOMPOSITION, results=("sign", "logabsdet"),
    result_promotions=("same", "real"), requires="linalg", public=False, method=False, out=False, vjp=_slogdet_grad,
)  # fmt: skip


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def det(A: Tensor) -> Tensor:
    """Return the determinants of square matrices.

    Args:
        A: matrices `(*, n, n)`, floating-point or complex.

    >>> torch.linalg.det(torch.tensor([[2.0, 1], [1, 3]]))
    tensor(5.)
    """
    promote_square("linalg.det", A, "lu_cpu")
    return _det(A)


@with_out(Out.OWN_DTYPE | Out.UNCHECKED)
def slogdet(A: Tensor) -> Any:
    """Return the signs of the determinants (complex of modulus 1 for complex matrices) and the logarithms of their absolute
    values.

    Args:
        A: matrices `(*, n, n)`, floating-point or complex.

    >>> torch.linalg.slogdet(torch.tensor([[0.0, 1], [1, 0]])).sign
    tensor(-1.)
    """
    promote_square("linalg.slogdet", A)
    return _slogdet(A)


# --- pseudo-inverse and least squares -----------------------------------------------------------------------------


def tolerance(largest: Tensor, shape: Any, atol: Any, rtol: Any) -> Tensor:
    """Return the limit up to which singular values count as zero: `max(atol, rtol * largest)`."""
    if rtol is None:
        relative = max(shape[-2:]) * dtypes.finfo(largest.dtype).eps
        rtol = relative if atol is None else largest.new_zeros(()) + relative * (_as(largest, atol) <= 0)
    return (_as(largest, rtol) * largest).maximum(_as(largest, 0.0 if atol is None else atol))


def _as(like: Tensor, value: Any) -> Tensor:
    return value.to(like.dtype) if isinstance(value, Tensor) else like.new_full((), value)


def _pinv_grad(F: Any, g: Any, A: Any, out: Any) -> Any:
    """Compute the gradient of the pseudo-inverse: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear
    least squares problems" (1973).
    """
    P_h, g_h = F.mH_(out), F.mH_(g)
    inner = F.mm(F.mm(P_h, g), P_h)
    outer_left, outer_right = F.mm(P_h, out), F.mm(out, P_h)
    to_rows = g_h - F.mm(A, F.mm(out, g_h))
    to_columns = g_h - F.mm(F.mm(g_h, out), A)
    return -inner + F.mm(to_rows, outer_right) + F.mm(outer_left, to_columns)


def _pinv_forward(xp: Any, A: Any, atol: Any, rtol: Any, /, hermitian: bool = False) -> Any:
    is_complex = xp.isdtype(A.dtype, "complex floating")
    if hermitian:
        values, vectors = xp.linalg.eigh(A)
        sizes = xp.abs(values)
        Vh = xp.conj(xp.matrix_transpose(vectors)) if is_complex else xp.matrix_transpose(vectors)
        U, S = vectors, values
    else:
        U, S, Vh = xp.linalg.svd(A, full_matrices=False)
        sizes = S
    if not sizes.shape[-1]:
        return xp.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), dtype=A.dtype)
    largest = xp.max(sizes, axis=-1, keepdims=True)
    keep = sizes > xp.maximum(xp.expand_dims(atol, axis=-1), xp.expand_dims(rtol, axis=-1) * largest)
    inverse = xp.where(keep, 1 / xp.where(keep, S, xp.ones_like(S)), xp.zeros_like(S))
    U_h, V = xp.matrix_transpose(U), xp.matrix_transpose(Vh)
    if is_complex:
        U_h, V = xp.conj(U_h), xp.conj(V)
    return xp.matmul(V * xp.expand_dims(inverse, axis=-2), U_h)


_pinv = op(
    "linalg_pinv", _pinv_forward,
    kind=Kind.DECOMPOSITION, keeps_dtype=("atol", "rtol"), requires="linalg", public=False, method=False,
    out=False, A=_pinv_grad,
    schema=(
        "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
        "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
        "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
        "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    ),
)  # fmt: skip


@with_out(Out.UNCHECKED)
def pinv(input: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """Return the Moore-Penrose pseudo-inverse.  Singular values up to `max(atol, rtol * largest)` count as zero, where
    `largest` is the largest singular value.

    `rtol` defaults to `max(m, n)` times the machine epsilon, or to 0 if an `atol` above 0 is given.

    Args:
        input: matrices `(*, m, n)`, floating-point or complex.
        rcond: the legacy name of `rtol`.
        hermitian: whether the matrices are Hermitian; their eigenvalues then replace the singular values, which is faster.
        atol: the absolute tolerance, a number or a tensor of the batch shape; None for 0.
        rtol: the relative tolerance, a number or a tensor of the batch shape.

    Raises:
        TypeError: `rcond` is given together with `atol` or `rtol`.

    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    if rcond is not None and (atol is not None or rtol is not None):
        raise TypeError("linalg_pinv() received an invalid combination of arguments: rcond together with atol or rtol")
    rtol = rcond if rtol is None else rtol
    if not isinstance(input, Tensor):
        raise TypeError(f"linalg_pinv(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if input.ndim < 2 or input.dtype.category < dtypes.FLOATING or input.dtype in dtypes.HALF:
        raise RuntimeError(
            f"linalg.pinv({input.dtype.legacy_name}{{{list(input.shape)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )
    tolerances = {"atol": atol, "rtol": rtol}
    require_constant("linalg_pinv", **{name: value for name, value in tolerances.items() if isinstance(value, Tensor)})
    if hermitian:
        promote_square("linalg.pinv", input)
    real = input.detach().real if input.is_complex() else input.detach()
    unit = real.new_ones(())
    relative = tolerance(unit, input.shape, None, rtol) if rtol is not None or atol is None else None
    if relative is None:
        default = max(input.shape[-2:]) * dtypes.finfo(real.dtype).eps
        relative = default * (_as(unit, atol) <= 0).to(real.dtype)
    return _pinv(input, _as(unit, 0.0 if atol is None else atol), relative, hermitian)


def _lstsq_forward(
    xp: Any, A: Any, B: Any, /, rtol: float, is_vector: bool = False, with_residuals: bool = False
) -> tuple[Any, Any, Any]:
    real = xp.abs(B).dtype
    inverse = _pinv_forward(xp, A, xp.zeros((), dtype=real), xp.full((), rtol, dtype=real))
    return least_squares(xp, A, B, inverse, is_vector, with_residuals)


def least_squares(xp: Any, A: Any, B: Any, inverse: Any, is_vector: bool, with_residuals: bool) -> tuple[Any, Any, Any]:
    """Return the product of the pseudo-inverse and `B`, the squared norms of the residuals, and the pseudo-inverse."""
    right = xp.expand_dims(B, axis=-1) if is_vector else B
    real = xp.abs(right).dtype
    solution = xp.matmul(inverse, right)
    errors = xp.abs(xp.matmul(A, solution) - right)
    residuals = xp.sum(errors * errors, axis=-2) if with_residuals else xp.zeros((0,), dtype=real)
    solution = _to_lapack_layout(xp, solution, A.shape[-2])
    if is_vector:
        solution, residuals = solution[..., 0], residuals[..., 0] if with_residuals else residuals
    return solution, residuals, inverse


def _to_lapack_layout(xp: Any, solution: Any, rows: int) -> Any:
    """Copy the solution to the memory layout of LAPACK, which writes it to the first rows of the right-hand side.

    The copy is column-major; its columns are at least `rows` elements apart.
    """
    transposed = xp.matrix_transpose(solution)
    columns = transposed.shape[-1]
    spare = xp.zeros((*transposed.shape[:-1], max(rows - columns, 0)), dtype=transposed.dtype)
    dense = xp.reshape(xp.reshape(transposed, (-1,)), transposed.shape)
    return xp.matrix_transpose(xp.concat([dense, spare], axis=-1)[..., :columns])


def _lstsq_grad(F: Any, g: Any, A: Any, B: Any, out: Any, is_vector: bool, with_residuals: bool) -> tuple[Any, Any]:
    gX, X, right = (F.reshape(array, (*array.shape, 1)) if is_vector else array for array in (g[0], out[0], B))
    inverse = out[2]
    for_A = _pinv_grad(F, F.mm(gX, F.mH_(right)) + g[2], A, inverse)
    for_B = F.mm(F.mH_(inverse), gX)
    if with_residuals:  # the residuals are minimal at the solution, so their derivative with respect to the solution is 0
        slope = (F.mm(A, X) - right) * F.reshape(g[1] * 2, (*X.shape[:-2], 1, X.shape[-1]))
        for_A, for_B = for_A + F.mm(slope, F.mH_(X)), for_B - slope
    return for_A, F.reshape(for_B, for_B.shape[:-1]) if is_vector else for_B


_lstsq = op(
    "linalg_lstsq", _lstsq_forward,
    kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32}, promote="match", results=("solution", "residuals", "inverse"),
    result_promotions=("same", "real", "same"), requires="linalg", public=False, method=False, out=False, vjp=_lstsq_grad,
)  # fmt: skip
_Lstsq = make("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _check_lstsq(A: Any, B: Any, driver: str) -> bool:
    """Check the arguments as PyTorch does, and return whether `B` is a batch of vectors."""
    name = "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype.category < dtypes.FLOATING or A.dtype in dtypes.HALF:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{A.dtype.legacy_name} and other's dtype {B.dtype.legacy_name}"
        )
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    is_vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    dim = -1 if is_vector else -2
    if A.shape[-2] != B.shape[dim]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({dim})")
    if driver not in _DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    return bool(is_vector)


@with_out(Out.UNCHECKED)
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Return the least-squares solution of `input X = b`; if it is not unique, the one with the least norm.

    Returns `(solution, residuals, rank, singular_values)`.  Results that PyTorch's `driver` ("gelsy" by default, "gels",
    "gelsd"
    or "gelss") does not compute are empty.

    Args:
        input: matrices `(*, m, n)`, floating-point or complex.
        b: the right-hand side `(*, m, k)` or `(*, m)`, with the dtype of `input`.
        rcond: singular values up to `rcond` times the largest count as zero; None for `max(m, n)` times the machine epsilon.
        driver: the LAPACK routine "gels", "gelsy", "gelsd" or "gelss"; None for "gelsy".

    >>> torch.linalg.lstsq(torch.tensor([[1.0], [1], [1]]), torch.tensor([[1.0], [2], [6]])).solution
    tensor([[3.0000]])
    """
    driver = "gelsy" if driver is None else driver
    is_vector = _check_lstsq(input, b, driver)
    rows, columns = input.shape[-2:]
    relative = max(rows, columns) * dtypes.finfo(input.dtype).eps if rcond is None else rcond
    S = svdvals(input.detach())
    rank = (relative * S[..., :1] < S).sum(-1)
    with_residuals = driver != "gelsy" and rows > columns and (driver == "gels" or bool((rank == columns).all()))
    A, B = (input, b) if is_vector else broadcast_matrices(input, b)
    return _Lstsq(
        (
            *_lstsq(A, B, relative, is_vector, with_residuals)[:2],
            rank.new_empty(0) if driver == "gels" else rank,
            S if driver in ("gelsd", "gelss") else S.new_empty(0),
        )
    )


# --- tensors as matrices ------------------------------------------------------------------------------------------


@with_out(Out.ROW_MAJOR | Out.RECORDED | Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """Return the inverse of the matrix whose rows are the first `ind` dimensions of `input`, and whose columns are the others.

    Args:
        input: a tensor whose first `ind` sizes have the same product as the others.
        ind: the number of dimensions of the rows, positive.

    Raises:
        RuntimeError: the products of the sizes differ.
        LinAlgError: the matrix is singular.

    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6), ind=2).shape
    torch.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > input.ndim:
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {input.ndim}")
    rows, columns = input.shape[:ind], input.shape[ind:]
    _check_square_tensor("shape[ind:]", "shape[:ind]", math.prod(columns), math.prod(rows))
    return inv(input.reshape(math.prod(rows), math.prod(columns))).reshape(*columns, *rows)


def _check_square_tensor(trailing: str, leading: str, columns: int, rows: int) -> None:
    if columns != rows:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.{trailing}) == prod(self.{leading}), but got {columns} != {rows}"
        )


@with_out(Out.RECORDED | Out.UNCHECKED, kind=Kind.DECOMPOSITION, autocast={"cpu": Autocast.FLOAT32})
def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """Return the solution `X` of `tensordot(input, X, X.ndim) = other`; the dimensions `dims` of `input` are moved to its end
    first.

    Args:
        input: a tensor of shape `(*other.shape, *X.shape)`, after `dims` were moved, where both parts have the same number of
            elements.
        other: the right-hand side.
        dims: dimensions of `input` to move to its end; None for none.

    Raises:
        RuntimeError: the numbers of elements differ.
        LinAlgError: the matrix is singular.

    >>> torch.linalg.tensorsolve(2 * torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3))
    tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000])
    """
    if dims is not None:
        input = input.movedim(dims, tuple(range(input.ndim - len(dims), input.ndim)))
    rows, columns = input.shape[: other.ndim], input.shape[other.ndim :]
    _check_square_tensor("shape[other.ndim:]", "shape[:other.ndim]", math.prod(columns), math.prod(rows))
    return solve(input.reshape(math.prod(rows), math.prod(columns)), other.reshape(-1)).reshape(columns)
