"""Linear systems, eigenvalues and low-rank approximations of sparse matrices, and `spdiags`."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...autograd.function import Function
from ...engine.calls.node_names import with_grad_fn
from ...engine.calls.overriding import redispatch_function
from ...engine.calls.tables import FUSED
from ...engine.devices.devices import DispatchKey
from ...engine.tensors.tensor import Tensor, wrap
from .layouts import coalesced, to_coo
from .products import entries, sampled
from .tensors import LAYOUTS, SparseTensor, build, implements, nnz_of, to_dense

__all__ = ["lobpcg", "pca_lowrank", "solve", "spdiags", "spsolve", "svd_lowrank"]

FUSED.add("sparse_solve")


class _Solve(Function):
    """Solve `matrix @ x = right`.  The gradient of `matrix` is sparse, with the same indices."""

    @staticmethod
    def forward(ctx: Any, matrix: SparseTensor, right: Tensor) -> Tensor:
        solution = _solution(matrix, right)
        ctx.matrix = matrix
        ctx.save_for_backward(solution)
        return solution

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        matrix, (solution,) = ctx.matrix, ctx.saved_tensors
        adjoint = matrix.transpose(0, 1)
        for_right = _Solve.apply(adjoint.conj() if matrix.is_complex() else adjoint, gradient)
        if not ctx.needs_input_grad[0]:
            return None, for_right
        left, right = (each.unsqueeze(1) if each.ndim == 1 else each for each in (for_right, solution))
        return sampled(-left, right.mH, matrix), for_right


def _solution(matrix: SparseTensor, right: Tensor) -> Tensor:
    key = right._key
    kernel = key.backend.all_kernels.get("sparse_solve") if type(key) is DispatchKey else None
    if kernel is not None:
        rows, columns, values = entries(matrix)
        array = kernel(rows._array, columns._array, values._array, tuple(matrix.shape), right._array)
        if array is not None:
            return wrap(array, key)
    return torch.linalg.solve(to_dense(matrix), right)


@with_grad_fn("LinalgSolveExBackward0")
def spsolve(input: Any, other: Tensor, *, left: bool = True) -> Tensor:
    """Return the solution `x` of `input @ x = other` for a square sparse matrix.

    The NumPy backend uses SciPy's sparse factorization if SciPy is installed.  Otherwise, the matrix is converted to dense.

    Args:
        input: the matrix, of shape `(n, n)`, in any sparse layout.
        other: the right side, of shape `(n,)` or `(n, k)`.
        left: must be True, as in PyTorch.

    Raises:
        RuntimeError: the shapes do not fit, or `left` is False.

    >>> torch.sparse.spsolve(torch.tensor([[2.0, 0], [0, 4]]).to_sparse_csr(), torch.ones(2))
    tensor([0.5000, 0.2500])
    """
    if not left:
        raise RuntimeError("spsolve: only left=True is supported")
    if not isinstance(input, SparseTensor) or input.ndim != 2 or input.shape[0] != input.shape[1]:
        raise RuntimeError(f"spsolve: expected a square sparse matrix, but got {list(input.shape)} in layout {input.layout}")
    if other.ndim not in (1, 2) or other.shape[0] != input.shape[0]:
        raise RuntimeError(f"spsolve: a right side of shape {list(other.shape)} does not fit a matrix of {list(input.shape)}")
    source = coalesced(input) if input._array.layout == "sparse_coo" else input
    return _Solve.apply(source, other)  # type: ignore[no-any-return]  # `apply` returns Any


def solve(input: Any, other: Tensor) -> Tensor:
    """Return the solution `x` of `input @ x = other` for a square sparse matrix: another name of `spsolve`."""
    return spsolve(input, other)


implements("spsolve", "_spsolve")(spsolve)


@implements()
def triangular_solve(b: Tensor, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    if not isinstance(A, SparseTensor) or isinstance(b, SparseTensor):
        raise RuntimeError("triangular_solve: expected a dense b and a sparse A")
    result: Any = torch.triangular_solve(b, to_dense(A), upper, transpose, unitriangular)
    solution = result[0] if nnz_of(A) else torch.full_like(result[0], torch.nan)  # as in PyTorch, even if `unitriangular`
    return type(result)((solution, A.new_zeros((0,)) if A._array.layout == "sparse_coo" else b.new_zeros(0)))


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Any:
    """Create a sparse matrix from diagonals: row `i` of `diagonals` becomes the diagonal `offsets[i]`.

    Args:
        diagonals: the elements, of shape `(number of diagonals, length)`.  Column `j` here is column `j` of the result.
        offsets: the diagonals' positions: 0 is the main diagonal, positive numbers are above it.
        shape: the shape of the result, two ints.
        layout: the layout of the result: COO (the default), CSR or CSC.

    >>> torch.sparse.spdiags(torch.tensor([[1, 2, 3]]), torch.tensor([1]), (3, 3)).to_dense()
    tensor([[0, 2, 0],
            [0, 0, 3],
            [0, 0, 0]])
    """
    offsets = offsets.reshape(-1)
    diagonals = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    if diagonals.ndim != 2 or len(diagonals) != len(offsets):
        raise RuntimeError(f"number of diagonals ({diagonals.shape[0]}) does not match the number of offsets ({len(offsets)})")
    if len(shape) != 2:
        raise RuntimeError(f"output shape must be 2d, but got {tuple(shape)}")
    if len(torch.unique(offsets)) != len(offsets):
        raise RuntimeError("offset tensor contains duplicate values")
    if layout not in (None, *(LAYOUTS[f"sparse_{each}"] for each in ("coo", "csr", "csc"))):
        raise RuntimeError(f"only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    columns = torch.arange(diagonals.shape[1], device=offsets.device).expand_as(diagonals)
    rows = columns - offsets.unsqueeze(1)
    kept = ((rows >= 0) & (rows < shape[0]) & (columns < shape[1])).reshape(-1).nonzero().squeeze(1)
    indices = torch.stack([rows.reshape(-1)[kept], columns.reshape(-1)[kept]])
    result = build("sparse_coo", [indices], diagonals.reshape(-1)[kept], tuple(shape), coalesced=False)
    return result if layout in (None, torch.sparse_coo) else to_coo(result).to_sparse(layout=layout)


# --- decompositions -------------------------------------------------------------------------------------------------


@implements()
def svd_lowrank(A: SparseTensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> Any:
    """Approximate the largest singular values from products of the sparse matrix; with `M`, `A - M` is dense."""
    if M is not None:
        return torch.svd_lowrank(to_dense(A), q, niter, M)
    return redispatch_function(torch.svd_lowrank, (), (A, q, niter), {})


@implements()
def pca_lowrank(A: SparseTensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """Approximate the first principal components of the dense matrix: subtracting the column means leaves few zeros."""
    return torch.pca_lowrank(to_dense(A), q, center, niter)


@implements()
def lobpcg(A: Tensor, k: int | None = None, B: Tensor | None = None, *args: Any, **kwargs: Any) -> Any:
    """Return eigenvalues and eigenvectors of the dense matrices; other arguments are those of `torch.lobpcg`."""
    matrix = to_dense(A) if isinstance(A, SparseTensor) else A
    other = to_dense(B) if isinstance(B, SparseTensor) else B
    return torch.lobpcg(matrix, k, other, *args, **kwargs)
