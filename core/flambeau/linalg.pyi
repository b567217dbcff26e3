"""Written by `python -m flambeau.cli.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, overload

from . import return_types
from .engine.devices.devices import device as _device
from .engine.tensors.tensor import Tensor
from .engine.values.constants import layout as _layout
from .engine.values.constants import memory_format as _memory_format
from .engine.values.dtypes import dtype as _dtype
from .random import Generator

__all__ = [  # noqa: RUF022
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot",
    "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

class LinAlgError(RuntimeError): ...
def cholesky(input: Tensor, *, upper: _bool = ..., out: Tensor | None = ...) -> Tensor:
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
def cholesky_ex(input: Tensor, *, upper: _bool = ..., check_errors: _bool = ..., out: Tensor | None = ...) -> return_types.linalg_cholesky_ex:
    """Return the Cholesky factor and `info`: 0, or the order of the leading minor that is not positive-definite.

    Args:
        input: Hermitian matrices `(*, n, n)`, floating-point or complex.
        upper: whether to return the upper triangular factor `U`.
        check_errors: whether to raise LinAlgError for a matrix that is not positive-definite.

    >>> torch.linalg.cholesky_ex(torch.tensor([[4.0, 0], [0, -1]])).info
    tensor(2, dtype=torch.int32)
    """
def cond(input: Tensor, p: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the condition number `norm(input, p) * norm(inv(input), p)`; it is infinite for singular matrices.

    For `p` None and 2, it is the ratio of the largest and the smallest singular value; for -2, the inverse of that.

    Args:
        input: matrices `(*, m, n)`, square unless `p` is None, 2 or -2.
        p: the order of the matrix norm: None, "fro", "nuc", 1, -1, 2, -2, inf or -inf.

    Raises:
        RuntimeError: `p` is another value, or a matrix is not square.

    >>> torch.linalg.cond(torch.tensor([[1.0, 0], [0, 4]]))
    tensor(4.)
    """
def cross(input: Tensor, other: Tensor, *, dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the cross product of vectors of length 3 along `dim`; the other dimensions broadcast.

    Args:
        other: a tensor with the dtype and the number of dimensions of `input`.
        dim: the dimension of length 3.

    Raises:
        RuntimeError: a vector has not 3 elements, or the dtypes or the numbers of dimensions differ.

    >>> torch.linalg.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]))
    tensor([0., 0., 1.])
    """
def det(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the determinants of square matrices.

    Args:
        A: matrices `(*, n, n)`, floating-point or complex.

    >>> torch.linalg.det(torch.tensor([[2.0, 1], [1, 3]]))
    tensor(5.)
    """
def diagonal(A: Tensor, *, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Return a view of the diagonals of matrices: `torch.diagonal` with the last two dimensions as default.

    Args:
        A: matrices `(*, m, n)`.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dim1, dim2: the dimensions of the rows and the columns.
    """
def eig(input: Tensor, *, out: Tensor | None = ...) -> return_types.linalg_eig:
    """Return the complex eigenvalues, in no particular order, and normalized eigenvectors of square matrices.

    >>> torch.linalg.eig(torch.tensor([[2.0, 0], [0, 3]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
def eigh(input: Tensor, UPLO: str = ..., *, out: Tensor | None = ...) -> return_types.linalg_eigh:
    """Return the eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices; only triangle `UPLO` is read.

    Args:
        input: Hermitian matrices `(*, n, n)`, floating-point or complex.
        UPLO: "L" to read the lower triangle, or "U" to read the upper one.

    Raises:
        LinAlgError: the algorithm does not converge.

    >>> torch.linalg.eigh(torch.tensor([[0.0, 1], [1, 0]])).eigenvalues
    tensor([-1.,  1.])
    """
def eigvals(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the complex eigenvalues of square matrices."""
def eigvalsh(input: Tensor, UPLO: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the eigenvalues of Hermitian matrices, in ascending order.

    Args:
        input: Hermitian matrices `(*, n, n)`, floating-point or complex.
        UPLO: "L" to read the lower triangle, or "U" to read the upper one.

    >>> torch.linalg.eigvalsh(torch.tensor([[0.0, 1], [1, 0]]))
    tensor([-1.,  1.])
    """
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the first n columns of the product of the reflections `I - tau v v^H` that `geqrf` computed.

    Args:
        input: matrices `(*, m, n)` with the vectors `v` below the diagonal, as returned by `torch.geqrf`.
        tau: the factors of the reflections, `(*, k)` with `k <= n`.

    Shapes: input `(*, m, n)` with `m >= n`, tau `(*, k)` with `k <= n`; the result has the shape of `input`.
    """
def inv(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverses of square matrices.

    Args:
        A: matrices `(*, n, n)`, floating-point or complex.

    Raises:
        LinAlgError: a matrix is singular.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0], [0, 4]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
def inv_ex(A: Tensor, *, check_errors: _bool = ..., out: Tensor | None = ...) -> return_types.linalg_inv_ex:
    """Return the result of `inv`, and `info`: for each matrix 0, or the number (from 1) of the zero pivot if it is singular.

    Args:
        A: matrices `(*, n, n)`, floating-point or complex.
        check_errors: whether to raise LinAlgError for a singular matrix.
    """
def ldl_factor(input: Tensor, *, hermitian: _bool = ..., out: Tensor | None = ...) -> return_types.linalg_ldl_factor:
    """Compute the LDL factorization (Bunch and Kaufman, 1977) of symmetric or Hermitian matrices, in LAPACK's compact form.

    Only the lower triangle is read.  On the CPU it needs SciPy: `pip install scipy`.

    Args:
        input: matrices `(*, n, n)`, floating-point or complex.
        hermitian: whether complex matrices are Hermitian, not symmetric.

    Raises:
        RuntimeError: a block of D is zero.
    """
def ldl_factor_ex(input: Tensor, *, hermitian: _bool = ..., check_errors: _bool = ..., out: Tensor | None = ...) -> return_types.linalg_ldl_factor_ex:
    """Return `ldl_factor` and `info`: 0, or the number, from 1, of the first zero block of D.

    Args:
        input: matrices `(*, n, n)`, floating-point or complex.
        hermitian: whether complex matrices are Hermitian, not symmetric.
        check_errors: whether to raise RuntimeError for a zero block of D.
    """
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Solve `A X = B`, given `ldl_factor` of `A`.

    Args:
        LD: the factors of matrices `(*, n, n)`, from `ldl_factor`.
        pivots: the row swaps `(*, n)`, from `ldl_factor`.
        B: the right-hand side `(*, n, k)`, with the dtype of `LD`.
        hermitian: the value given to `ldl_factor`.
    """
def lstsq(input: Tensor, b: Tensor, rcond: _float | None = ..., *, driver: str | None = ..., out: Tensor | None = ...) -> return_types.linalg_lstsq:
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
def lu(A: Tensor, *, pivot: _bool = ..., out: Tensor | None = ...) -> return_types.linalg_lu:
    """Return the permutation `P`, unit lower triangular `L` and upper triangular `U` of `A = P L U`.

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        pivot: whether to swap rows; False is not supported on the CPU.

    >>> torch.linalg.lu(torch.tensor([[1.0, 2], [2, 0]])).U
    tensor([[2., 0.],
            [0., 2.]])
    """
def lu_factor(A: Tensor, *, pivot: _bool = ..., out: Tensor | None = ...) -> return_types.linalg_lu_factor:
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
def lu_factor_ex(A: Tensor, *, pivot: _bool = ..., check_errors: _bool = ..., out: Tensor | None = ...) -> return_types.linalg_lu_factor_ex:
    """Return `lu_factor` and `info`: 0, or the number, from 1, of the first zero on the diagonal of U.

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        pivot: whether to swap rows; False is not supported on the CPU.
        check_errors: whether to raise RuntimeError for a zero on the diagonal of U.
    """
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = ..., adjoint: _bool = ..., out: Tensor | None = ...) -> Tensor:
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
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Multiply matrices or batches of matrices; see `torch.matmul`.

    Args:
        other: the second factor.
    """
def matrix_exp(input: Tensor) -> Tensor:
    """Compute the exponential of square matrices by scaling and squaring.

    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1], [0, 0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
def matrix_norm(input: Tensor, ord: Tensor | _int | _float | _complex | str = ..., dim: Sequence[_int] = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the norm of matrices: "fro" (Frobenius), "nuc" (nuclear), or a number.

    A number selects the largest (`ord > 0`) or smallest (`ord < 0`) singular value for 2 and -2, column sum of absolute values
    for 1 and -1, or row sum of absolute values for inf and -inf.

    Args:
        input: floating-point or complex matrices.
        ord: "fro", "nuc", 1, -1, 2, -2, inf or -inf.
        dim: the two dimensions of the rows and the columns.
        keepdim: whether the two dimensions are kept with length 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    Raises:
        RuntimeError: `ord` is another value, or `dim` has not two different dimensions.

    >>> torch.linalg.matrix_norm(torch.tensor([[1.0, -2], [3, 4]]), 1)
    tensor(6.)
    """
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return the `n`-th power of square matrices, by repeated squaring; for negative `n`, the power of the inverses.

    Args:
        n: the exponent.

    Raises:
        LinAlgError: `n` is negative and a matrix is singular.

    >>> torch.linalg.matrix_power(torch.tensor([[1, 1], [1, 0]]), 10)
    tensor([[89, 55],
            [55, 34]])
    """
def matrix_rank(input: Tensor, tol: Any = ..., hermitian: _bool = ..., *, atol: Any = ..., rtol: Any = ..., out: Any = ...) -> Tensor:
    """Return the number of singular values above `max(atol, rtol * largest)`; `tol` is the legacy name of `atol`.

    Args:
        input: matrices `(*, m, n)`, floating-point or complex.
        tol: the legacy name of `atol`; if given, `rtol` is 0.
        hermitian: whether the matrices are Hermitian; absolute eigenvalues then replace the singular values, which is faster.
        atol: the absolute tolerance, a number or a tensor of the batch shape; None for 0.
        rtol: the relative tolerance; None for `max(m, n)` times the machine epsilon, or for 0 if an `atol` above 0 is given.

    >>> torch.linalg.matrix_rank(torch.ones(2, 2))
    tensor(1)
    """
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Multiply two or more matrices in the order with the fewest multiplications; the first and the last may be vectors.

    Args:
        tensors: matrices of the same dtype, whose inner sizes match.

    Raises:
        RuntimeError: fewer than two tensors are given, or their shapes or dtypes do not match.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
def norm(input: Tensor, ord: Any = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return `matrix_norm` if `ord` is given and `dim` (or the input) has two dimensions; otherwise `vector_norm`.

    Without `ord`, the result is the 2-norm over `dim`, or of all elements.

    Args:
        input: a floating-point or complex tensor.
        ord: the order, as for `matrix_norm` or `vector_norm`.
        dim: one dimension for vectors, two for matrices; None for all, at most two if `ord` is given.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    >>> torch.linalg.norm(torch.tensor([3.0, -4.0])), torch.linalg.norm(torch.tensor([3.0, -4.0]), torch.inf)
    (tensor(5.), tensor(4.))
    """
def pinv(input: Tensor, rcond: Any = ..., hermitian: _bool = ..., *, atol: Any = ..., rtol: Any = ..., out: Tensor | None = ...) -> Tensor:
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
def qr(A: Tensor, mode: str = ..., *, out: Tensor | None = ...) -> return_types.linalg_qr:
    """Return `Q`, with orthonormal columns, and upper triangular `R` such that `A = Q R`.

    `mode` is "reduced", "complete" (`Q` is square) or "r" (`Q` is empty).

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        mode: "reduced" for `Q` with `min(m, n)` columns, "complete" for square `Q`, or "r" for an empty `Q`.

    >>> Q, R = torch.linalg.qr(torch.tensor([[3.0, 1], [4, 2]]))
    >>> torch.allclose(Q @ R, torch.tensor([[3.0, 1], [4, 2]]))
    True
    """
def slogdet(A: Tensor, *, out: Tensor | None = ...) -> return_types.linalg_slogdet:
    """Return the signs of the determinants (complex of modulus 1 for complex matrices) and the logarithms of their absolute
    values.

    Args:
        A: matrices `(*, n, n)`, floating-point or complex.

    >>> torch.linalg.slogdet(torch.tensor([[0.0, 1], [1, 0]])).sign
    tensor(-1.)
    """
def solve(A: Tensor, B: Tensor, *, left: _bool = ..., out: Tensor | None = ...) -> Tensor:
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
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = ..., check_errors: _bool = ..., out: Tensor | None = ...) -> return_types.linalg_solve_ex:
    """Return the result of `solve`, and `info`: for each matrix 0, or the number (from 1) of the zero pivot if it is singular.

    Args:
        A: square matrices, floating-point or complex.
        B: the right-hand side; see `solve` for the shapes.
        left: whether to solve `A X = B`; otherwise `X A = B`.
        check_errors: whether to raise LinAlgError for a singular matrix.
    """
def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool, left: _bool = ..., unitriangular: _bool = ..., out: Tensor | None = ...) -> Tensor:
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
def svd(A: Tensor, full_matrices: _bool = ..., *, driver: str | None = ..., out: Tensor | None = ...) -> return_types.linalg_svd:
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
def svdvals(A: Tensor, *, driver: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the singular values, in descending order.

    Args:
        A: matrices `(*, m, n)`, floating-point or complex.
        driver: must be None; PyTorch accepts names of cuSOLVER algorithms for CUDA tensors.

    >>> torch.linalg.svdvals(torch.tensor([[0.0, 2], [1, 0]]))
    tensor([2., 1.])
    """
def tensorinv(input: Tensor, ind: _int = ..., *, out: Tensor | None = ...) -> Tensor:
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
def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[_int] | None = ..., *, out: Tensor | None = ...) -> Tensor:
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
def vander(x: Tensor, *, N: _int | None = ...) -> Tensor:
    """Return Vandermonde matrices: row `i` holds the powers 0 to `N - 1` of `x[i]`; `N` defaults to the length of `x`.

    Args:
        x: numbers `(*, n)`.
        N: the number of powers, above 1; None for `n`.

    Raises:
        RuntimeError: `N` is below 2.

    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
def vecdot(x: Tensor, y: Tensor, *, dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the inner products of vectors along `dim`, with `x` conjugated; the other dimensions broadcast.

    Args:
        x, y: floating-point or complex tensors of the same dtype.
        dim: the dimension of the vectors.

    Raises:
        RuntimeError: the dtypes differ, or are neither floating-point nor complex.

    >>> torch.linalg.vecdot(torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([1.0, 1]))
    tensor([3., 7.])
    """
def vector_norm(input: Tensor, ord: Tensor | _int | _float | _complex = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the norm `sum(abs(x) ** ord) ** (1 / ord)` over the dimensions `dim`, or of all elements as one vector.

    For `ord` inf and -inf it is the largest and the smallest absolute value; for 0, the number of nonzero elements.

    Args:
        input: a floating-point or complex tensor.
        ord: the order of the norm: any number, inf or -inf.
        dim: the dimensions to reduce, an int or a tuple; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    Raises:
        RuntimeError: `input` is empty and `ord` is negative or inf, or its dtype is neither floating-point nor complex.

    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
