"""Products with sparse matrices.

A product with a dense matrix is computed by the backend's kernel `sparse_product`, if it has one (for NumPy, SciPy's).
Otherwise, rows of the dense matrix are gathered, scaled, and added by `index_add`.
"""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...autograd.function import Function
from ...engine.calls.node_names import with_grad_fn
from ...engine.calls.tables import FUSED
from ...engine.calls.wrappers import open_to_overrides
from ...engine.devices.devices import DispatchKey
from ...engine.tape.node import rename_node
from ...engine.tensors.tensor import Tensor, wrap
from .layouts import coalesce_entries, coalesced, convert, indices_of, to_coo
from .tensors import SparseTensor, batch_of, build, coordinates, gather, gradient_at, implements, like, nnz_of, store, values_of

__all__ = ["addmm", "dsmm", "hsmm", "hspmm", "mm", "saddmm", "sampled_addmm", "smm", "spmm", "sspaddmm"]

FUSED.add("sparse_product")


# --- sparse and dense ---------------------------------------------------------------------------------------------


def entries(input: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the row, column and value of each specified element of a sparse matrix; blocks are split."""
    if input._array.layout in ("sparse_bsr", "sparse_bsc"):
        input = to_coo(input)
    rows, columns = coordinates(input._array)
    return rows, columns, wrap(input._array.values, input._key)


_TRANSPOSED_LAYOUTS = {
    "sparse_coo": "sparse_coo", "sparse_csr": "sparse_csc", "sparse_csc": "sparse_csr", "sparse_bsr": "sparse_bsc",
    "sparse_bsc": "sparse_bsr",
}  # fmt: skip


def _product(sparse: SparseTensor, dense: Tensor, transposed: bool = False) -> Tensor:
    """Multiply a sparse matrix, or its transpose if `transposed`, by a dense matrix. Autograd does not record the product."""
    key, array = dense._key, sparse._array
    height, width = array.shape[::-1] if transposed else array.shape
    kernel = key.backend.all_kernels.get("sparse_product") if type(key) is DispatchKey else None
    if kernel is not None:
        layout = _TRANSPOSED_LAYOUTS[array.layout] if transposed else array.layout
        result = kernel(array.parts, array.values, (height, width), dense._array, layout, transposed)
        if result is not None:
            return wrap(result, key)
    rows, columns, values = entries(sparse)
    rows, columns = (columns, rows) if transposed else (rows, columns)
    terms = dense[columns] * values.unsqueeze(1)
    return dense.new_zeros((height, dense.shape[1])).index_add(0, rows, terms)


class _SparseDenseProduct(Function):
    """`sparse @ dense`.  If `masked`, the gradient of `sparse` is sparse, with the same indices; otherwise it is dense."""

    @staticmethod
    def forward(ctx: Any, sparse: SparseTensor, dense: Tensor, masked: bool) -> Tensor:
        ctx.sparse, ctx.masked = sparse, masked
        ctx.save_for_backward(dense)
        return _product(sparse, dense)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        sparse, (dense,) = ctx.sparse, ctx.saved_tensors
        for_sparse = for_dense = None
        if ctx.needs_input_grad[0]:
            for_sparse = sampled(gradient, dense.mH, sparse) if ctx.masked else gradient @ dense.mH
        if ctx.needs_input_grad[1]:
            for_dense = _sparse_dense_product(_adjoint(sparse), gradient, masked=True)
        return for_sparse, for_dense, None


class _DenseSparseProduct(Function):
    """`dense @ sparse`; both gradients are dense."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, sparse: SparseTensor) -> Tensor:
        ctx.sparse = sparse
        ctx.save_for_backward(dense)
        return _product(sparse, dense.mT, transposed=True).mT

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        sparse, (dense,) = ctx.sparse, ctx.saved_tensors
        for_dense = for_sparse = None
        if ctx.needs_input_grad[0]:
            for_dense = _sparse_dense_product(sparse.conj() if sparse.is_complex() else sparse, gradient.mT, masked=True).mT
        if ctx.needs_input_grad[1]:
            for_sparse = dense.mH @ gradient
        return for_dense, for_sparse


def sampled(left: Tensor, right: Tensor, mask: SparseTensor) -> SparseTensor:
    """Return `left @ right` at the indices of `mask` only, with the layout of `mask`."""
    array = mask._array
    if array.layout in ("sparse_bsr", "sparse_bsc"):
        return like(array, gather(left @ right, array))
    rows, columns = coordinates(array)
    return gradient_at(array, (left[rows] * right.mT[columns]).sum(1))


def _adjoint(input: SparseTensor) -> Any:
    transposed = input.transpose(0, 1)
    return transposed.conj() if input.is_complex() else transposed


def _sparse_dense_product(sparse: SparseTensor, dense: Tensor, masked: bool) -> Tensor:
    return _SparseDenseProduct.apply(sparse, dense, masked)  # type: ignore[no-any-return]  # `apply` returns Any


def _check(name: str, first: Tensor, second: Tensor, ndim: int = 2) -> None:
    for sparse in (first, second):
        if isinstance(sparse, SparseTensor) and sparse.ndim == 2 and sparse.layout is torch.sparse_coo and sparse.dense_dim():
            raise RuntimeError(f"{name}: matrices expected, got {sparse.sparse_dim()}D tensor")
    if first.ndim != 2 or second.ndim != ndim or (isinstance(first, SparseTensor) and first._array.values.ndim > 3):
        raise RuntimeError(f"{name}: expected matrices, but got tensors of {first.ndim} and {second.ndim} dimensions")
    if first.shape[1] != second.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({first.shape[0]}x{first.shape[1]} and "
            f"{second.shape[0]}x{second.shape[1] if ndim == 2 else 1})"
        )
    if first.dtype is not second.dtype:
        raise RuntimeError(f"{name}: expected both matrices to have one dtype, but got {first.dtype} and {second.dtype}")


# --- sparse and sparse --------------------------------------------------------------------------------------------


def _sparse_times_sparse(first: SparseTensor, second: SparseTensor) -> SparseTensor:
    """Multiply two sparse matrices into a coalesced COO matrix: entry `(i, k)` of `first` multiplies row `k` of `second`."""
    first, second = coalesced(to_coo(first)), coalesced(to_coo(second))
    (rows, inner), (keys, columns) = indices_of(first).unbind(0), indices_of(second).unbind(0)
    starts = torch.searchsorted(keys, inner)
    counts = torch.searchsorted(keys, inner, right=True) - starts
    left = torch.repeat_interleave(torch.arange(len(counts), device=rows.device), counts)
    within = torch.arange(len(left), device=rows.device) - (counts.cumsum(0) - counts)[left]
    right = starts[left] + within
    values = values_of(first)[left] * values_of(second)[right]
    shape = (first.shape[0], second.shape[1])
    return coalesce_entries(torch.stack([rows[left], columns[right]]), values, shape, shape)


# --- public -------------------------------------------------------------------------------------------------------


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Any:
    """Multiply a sparse matrix by another matrix; the gradient of `mat1` is sparse, with the same indices.

    Args:
        mat1: sparse, of shape `(n, m)`.
        mat2: sparse or dense, of shape `(m, p)`.
        reduce: for CSR, the reduction of the products of a row's stored elements: `"sum"`, `"mean"`, `"amax"` or `"amin"`.

    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    if not isinstance(mat1, SparseTensor):
        return torch.mm(mat1, mat2)
    _check("mm", mat1, mat2)
    if reduce not in (None, "sum"):
        return _reduced(mat1, mat2, reduce)
    if isinstance(mat2, SparseTensor):
        return _sparse_product(mat1, mat2)
    shown = "SparseAddmmBackward0" if reduce is None else "SparseMmReduceImplBackward0"
    return rename_node(_sparse_dense_product(mat1, mat2, masked=True), shown)


@with_grad_fn("SparseSparseMatmulBackward0")
def _sparse_product(mat1: SparseTensor, mat2: SparseTensor) -> SparseTensor:
    layout = mat1._array.layout
    if layout != "sparse_coo" and not layout == mat2._array.layout == "sparse_csc":
        layout = "sparse_csr"
    return convert(_sparse_times_sparse(mat1, mat2), layout)


@with_grad_fn("SparseMmReduceImplBackward0")
def _reduced(mat1: SparseTensor, mat2: Tensor, reduce: str) -> Tensor:
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("mean", "amax", "amin"):
        raise RuntimeError(f"sparse_mm: reduce argument must be either sum, mean, amax or amin, got {reduce}")
    if mat1._array.layout != "sparse_csr" or isinstance(mat2, SparseTensor):
        raise RuntimeError("sparse_mm_reduce: expected mat1 in layout torch.sparse_csr, and mat2 dense")
    rows, columns = coordinates(mat1._array)
    terms = mat2[columns] * values_of(mat1).unsqueeze(1)
    empty = terms.new_zeros((mat1.shape[0], mat2.shape[1]))
    return empty.scatter_reduce(0, rows.unsqueeze(1).expand_as(terms), terms, reduce, include_self=False)


@implements("mm", "spmm")
def _mm(input: Any, mat2: Any, *, reduce: str | None = None) -> Any:
    if isinstance(input, SparseTensor) and (isinstance(mat2, SparseTensor) or reduce is not None):
        return mm(input, mat2, reduce)
    if not isinstance(input, SparseTensor) and not isinstance(mat2, SparseTensor):  # `addmm` whose `input` alone is sparse
        return torch.mm(input, mat2)
    _check("mm", input, mat2)
    product = (
        _sparse_dense_product(input, mat2, masked=False)
        if isinstance(input, SparseTensor)
        else _DenseSparseProduct.apply(input, mat2)
    )
    return rename_node(product, "MmBackward0")


@implements(grad_fn="MvBackward0")
def mv(input: Any, vec: Tensor) -> Tensor:
    if not isinstance(input, SparseTensor):
        raise RuntimeError("mv(): a sparse vector is not supported")
    _check("mv", input, vec, ndim=1)
    return _sparse_dense_product(input, vec.unsqueeze(1), masked=False).squeeze(1)


@implements(grad_fn="BmmBackward0")
def bmm(input: Any, mat2: Any) -> Tensor:
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor) or input._array.layout != "sparse_coo":
        raise RuntimeError("bmm(): only a COO tensor times a dense one is supported")
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(f"bmm(): batches of shapes {list(input.shape)} and {list(mat2.shape)} cannot be multiplied")
    count, height, width = input.shape
    batch, rows, columns = indices_of(input).unbind(0)
    places = torch.stack([batch * height + rows, batch * width + columns])
    flat = build("sparse_coo", [places], values_of(input), (count * height, count * width), input._array.coalesced)
    product = _sparse_dense_product(flat, mat2.reshape(count * width, mat2.shape[2]), masked=True)
    return product.reshape(count, height, mat2.shape[2])


@implements("matmul", "__matmul__")
def _matmul(input: Any, other: Any) -> Any:
    if input.ndim == 2 and other.ndim == 1:
        return mv(input, other)
    if input.ndim == 1 and other.ndim == 2:
        return _mm(input.unsqueeze(0), other).squeeze(0)
    if input.ndim > 2 and other.ndim == 2:
        if isinstance(input, SparseTensor):
            raise RuntimeError("reshape is not implemented for sparse tensors")
        return _mm(input.reshape(-1, input.shape[-1]), other).reshape(*input.shape[:-1], other.shape[1])
    return bmm(input, other) if input.ndim == 3 else _mm(input, other)


@implements("__rmatmul__")
def _rmatmul(self: Any, other: Any) -> Any:
    return _matmul(other, self)


@implements()
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    result = _matmul(input, weight.transpose(0, 1))
    return result if bias is None else result + bias


def _scaled_sum(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else product * alpha
    if beta == 0 and isinstance(product, SparseTensor):
        return product.to_sparse(layout=input.layout)
    return product if beta == 0 else (input if beta == 1 else input * beta) + product


@with_grad_fn("SparseAddmmBackward0")
def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return `beta * mat + alpha * mat1 @ mat2` for a sparse `mat1`. The gradient of `mat1` is sparse, at the same indices.

    >>> torch.sparse.addmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[2., 2.],
            [2., 2.]])
    """
    return _scaled_sum(mat, mm(mat1, mat2), beta, alpha)


@implements("addmm", grad_fn="AddmmBackward0")
def _addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _scaled_sum(input, _mm(mat1, mat2), beta, alpha)


@implements(grad_fn="AddmvBackward0")
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _scaled_sum(input, mv(mat, vec), beta, alpha)


def spmm(input: Any, mat2: Any) -> Any:
    """Return the product of a sparse and a dense matrix: another name of `torch.mm`.

    Args:
        mat2: a dense matrix `(m, p)`.

    >>> torch.spmm(torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return torch.mm(input, mat2)


@implements()
def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return `beta * input + alpha * mat1 @ mat2` for a sparse `mat1`; `input` and the result may be sparse.

    Args:
        input: a matrix `(n, p)`.
        mat1: a sparse matrix `(n, m)`.
        mat2: a dense matrix `(m, p)`.
        beta, alpha: the factors of `input` and of the product.

    >>> torch.saddmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[2., 2.],
            [2., 2.]])
    """
    return (sspaddmm if isinstance(input, SparseTensor) else addmm)(input, mat1, mat2, beta=beta, alpha=alpha)


@implements()
def smm(input: Any, mat: Any) -> Any:
    """Return the product of a sparse and a dense matrix as a sparse matrix.

    Args:
        input: a sparse matrix `(n, m)`.
        mat: a dense matrix `(m, p)`.

    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 2)).is_sparse
    True
    """
    return sspaddmm(torch.zeros((input.shape[0], mat.shape[1]), dtype=mat.dtype, device=mat.device).to_sparse(), input, mat)


@implements()
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return `beta * input + alpha * mat1 @ mat2` as a sparse matrix; `input` and `mat1` are sparse, `mat2` is dense.

    In the rows where `mat1` has elements, the result stores all columns.

    Args:
        input: a sparse matrix `(n, p)`.
        mat1: a sparse matrix `(n, m)`.
        mat2: a dense matrix `(m, p)`.
        beta, alpha: the factors of `input` and of the product.

    Raises:
        RuntimeError: `input` or `mat1` is dense.
    """
    if not isinstance(mat1, SparseTensor) or not isinstance(input, SparseTensor):
        raise RuntimeError("sspaddmm: expected sparse input and mat1, and a dense mat2")
    result = _rows_of_product(mat1, mat2) * alpha
    return result if beta == 0 or not nnz_of(input) else input * beta + result


def _rows_of_product(mat1: SparseTensor, mat2: Tensor) -> SparseTensor:
    rows = torch.unique(indices_of(to_coo(mat1))[0])
    product, width = torch.mm(mat1, mat2), mat2.shape[1]
    columns = torch.arange(width, device=rows.device).repeat(len(rows))
    places = torch.stack([rows.repeat_interleave(width), columns])
    return build("sparse_coo", [places], product[rows].reshape(-1), product.shape, coalesced=False)


@implements()
def hspmm(mat1: Any, mat2: Tensor) -> Any:
    """Return the product of a sparse and a dense matrix as a COO tensor. Only its first dimension, the rows, is sparse.

    Args:
        mat1: a sparse matrix `(n, m)`.
        mat2: a dense matrix `(m, p)`.

    Raises:
        RuntimeError: `mat1` is dense.

    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 3)).dense_dim()
    1
    """
    if not isinstance(mat1, SparseTensor):
        raise RuntimeError("hspmm: expected a sparse mat1")
    rows, product = torch.unique(indices_of(to_coo(mat1))[0]), torch.mm(mat1, mat2)
    return build("sparse_coo", [rows.unsqueeze(0)], product[rows], product.shape, coalesced=False)


@implements(grad_fn="SparseSampledAddmmBackward0")
def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0, out: Tensor | None = None) -> Any:
    """Return `beta * input + alpha * mat1 @ mat2` at the indices of `input`, a sparse matrix in a compressed layout.

    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if not isinstance(input, SparseTensor) or input._array.layout == "sparse_coo":
        raise NotImplementedError("sampled_addmm: expected input in a compressed layout, such as torch.sparse_csr")
    batch = batch_of(input._array)
    fits = mat1.shape[-1] == mat2.shape[-2] and mat1.shape[:-2] == mat2.shape[:-2] == torch.Size(batch)
    if not fits or tuple(input.shape) != (*batch, mat1.shape[-2], mat2.shape[-1]):
        raise RuntimeError(
            f"sampled_addmm: shapes do not fit: input {list(input.shape)}, mat1 {list(mat1.shape)}, mat2 {list(mat2.shape)}"
        )
    if batch:
        product = gather(mat1 @ mat2, input._array) * alpha
    else:
        product = values_of(sampled(mat1, mat2, input)) * alpha
    result = like(input._array, product if beta == 0 else values_of(input) * beta + product)
    return result if out is None else store("sampled_addmm", out, result)


@implements()
def dsmm(input: Any, mat2: Any) -> Any:
    """Return the product of a sparse and a dense matrix: another name of `torch.mm`.

    Args:
        input: a sparse matrix `(n, m)`.
        mat2: a matrix `(m, p)`.

    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return torch.mm(input, mat2)


@implements()
def hsmm(mat1: Any, mat2: Tensor) -> Any:
    """Return the product of a sparse and a dense matrix with sparse rows: another name of `torch.hspmm`.

    Args:
        mat1: a sparse matrix `(n, m)`.
        mat2: a dense matrix `(m, p)`.

    >>> torch.hsmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    return hspmm(mat1, mat2)


_TORCH_FUNCTIONS = ["dsmm", "hsmm", "hspmm", "saddmm", "smm", "spmm", "sspaddmm"]
open_to_overrides(globals(), _TORCH_FUNCTIONS, native=_TORCH_FUNCTIONS, module="flambeau")
