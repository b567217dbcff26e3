"""Methods of Tensor that convert to sparse layouts and return their parts.

Their implementations are in `layouts/sparse`, which is imported at the first call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.calls.transform_hooks import hooks
from ..engine.tensors.tensor import Tensor

__all__: list[str] = []


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    return hooks.sparse("IMPLEMENTATIONS")[name](*args, **kwargs)


def _tensor(name: str, *args: Any, **kwargs: Any) -> Tensor:
    result: Tensor = _call(name, *args, **kwargs)
    return result


# --- layouts ------------------------------------------------------------------------------------------------------


def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Tensor:
    """Convert the tensor to a sparse layout, by default COO.

    Args:
        sparse_dim: the number of sparse dimensions (default: all); the other dimensions are dense.
        layout: the layout of the result.
        blocksize: height and width of the blocks of BSR and BSC.
        dense_dim: the number of trailing dense dimensions of a compressed result.

    >>> torch.tensor([[0, 2.0], [0, 0]]).to_sparse()
    tensor(indices=tensor([[0],
                           [1]]),
           values=tensor([2.]),
           size=(2, 2), nnz=1, layout=torch.sparse_coo)
    """
    return _tensor("to_sparse", self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_coo(self: Tensor) -> Tensor:
    """Convert the tensor to COO: an index for each value."""
    return _tensor("to_sparse_coo", self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Convert the tensor to CSR: the start of each row, and a column for each value.

    Args:
        dense_dim: the number of last dimensions that are dense; None for 0.
    """
    return _tensor("to_sparse_csr", self, dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Convert the tensor to CSC: the start of each column, and a row for each value.

    Args:
        dense_dim: the number of last dimensions that are dense; None for 0.
    """
    return _tensor("to_sparse_csc", self, dense_dim)


def to_sparse_bsr(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
    """Convert the tensor to BSR: like CSR, with blocks of `blocksize = (height, width)` instead of elements.

    Args:
        blocksize: the height and the width of a block, which divide those of the matrix.
        dense_dim: the number of last dimensions that are dense; None for 0.
    """
    return _tensor("to_sparse_bsr", self, blocksize, dense_dim)


def to_sparse_bsc(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
    """Convert the tensor to BSC: like CSC, with blocks of `blocksize = (height, width)` instead of elements.

    Args:
        blocksize: the height and the width of a block, which divide those of the matrix.
        dense_dim: the number of last dimensions that are dense; None for 0.
    """
    return _tensor("to_sparse_bsc", self, blocksize, dense_dim)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return a sparse tensor with the layout and indices of `mask`, and the values of this tensor at these indices.

    Args:
        mask: a sparse tensor of the same shape.

    >>> torch.ones(2, 2).sparse_mask(torch.eye(2).to_sparse()).to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _tensor("sparse_mask", self, mask)


# --- parts --------------------------------------------------------------------------------------------------------


def coalesce(self: Tensor) -> Tensor:
    """Return a COO tensor with sorted indices, and duplicate entries added; the tensor itself if it is coalesced already."""
    return _tensor("coalesce", self)


def is_coalesced(self: Tensor) -> bool:
    """Whether the indices of a COO tensor are sorted and unique."""
    return bool(_call("is_coalesced", self))


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Mark a COO tensor as coalesced or not, without checking its indices."""
    return _tensor("_coalesced_", self, coalesced)


def indices(self: Tensor) -> Tensor:
    """Return the indices of a coalesced COO tensor, of shape `(sparse dimensions, nnz)`."""
    return _tensor("indices", self)


def values(self: Tensor) -> Tensor:
    """Return the specified elements of a sparse tensor; a COO tensor must be coalesced."""
    return _tensor("values", self)


def _indices(self: Tensor) -> Tensor:
    """Return the indices of a COO tensor, coalesced or not."""
    return _tensor("_indices", self)


def _values(self: Tensor) -> Tensor:
    """Return the values of a COO tensor, coalesced or not, without history."""
    return _tensor("_values", self)


def _nnz(self: Tensor) -> int:
    """Return the number of specified elements of a sparse tensor, or of blocks."""
    return int(_call("_nnz", self))


def _dimI(self: Tensor) -> int:
    """Return the number of sparse dimensions of a COO tensor."""
    return int(_call("_dimI", self))


def _dimV(self: Tensor) -> int:
    """Return the number of dense dimensions of a COO tensor."""
    return int(_call("_dimV", self))


def crow_indices(self: Tensor) -> Tensor:
    """Return the position in the values at which each row of a CSR or BSR tensor begins, followed by `nnz`."""
    return _tensor("crow_indices", self)


def col_indices(self: Tensor) -> Tensor:
    """Return the column of each value (or block) of a CSR or BSR tensor."""
    return _tensor("col_indices", self)


def ccol_indices(self: Tensor) -> Tensor:
    """Return the position in the values at which each column of a CSC or BSC tensor begins, followed by `nnz`."""
    return _tensor("ccol_indices", self)


def row_indices(self: Tensor) -> Tensor:
    """Return the row of each value (or block) of a CSC or BSC tensor."""
    return _tensor("row_indices", self)


def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions; 0 for a dense tensor."""
    return int(_call("sparse_dim", self))


def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions; for a strided tensor, all of its dimensions."""
    return int(_call("dense_dim", self))


# --- shapes that are given, and products ----------------------------------------------------------------------------


def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Change the shape of a COO tensor in-place; all of its indices must be inside of the new shape.

    Args:
        size: the shape.
        sparse_dim: the number of sparse dimensions.
        dense_dim: the number of dense dimensions.
    """
    return _tensor("sparse_resize_", self, size, sparse_dim, dense_dim)


def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Change the shape of a COO tensor, and remove all elements, in-place.

    Args:
        size: the shape.
        sparse_dim: the number of sparse dimensions.
        dense_dim: the number of dense dimensions.
    """
    return _tensor("sparse_resize_and_clear_", self, size, sparse_dim, dense_dim)


def resize_as_sparse_(self: Tensor, other: Tensor) -> Tensor:
    """Change the shape of a COO tensor to that of `other`, in-place.

    Args:
        other: a COO tensor.
    """
    return _tensor("resize_as_sparse_", self, other)


def smm(self: Tensor, mat: Tensor) -> Tensor:
    """Return the product of a sparse and a dense matrix as a sparse matrix: see `torch.smm`.

    Args:
        mat: a dense matrix `(m, p)`.
    """
    return _tensor("smm", self, mat)


def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return `beta * self + alpha * mat1 @ mat2` as a sparse matrix: see `torch.sspaddmm`.

    Args:
        mat1: a sparse matrix `(n, m)`.
        mat2: a dense matrix `(m, p)`.
        beta, alpha: the factors of `self` and of the product.
    """
    return _tensor("sspaddmm", self, mat1, mat2, beta=beta, alpha=alpha)


METHODS = (
    to_sparse, to_sparse_coo, to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc, sparse_mask, coalesce, is_coalesced,
    _coalesced_, indices, values, _indices, _values, _nnz, _dimI, _dimV, crow_indices, col_indices, ccol_indices, row_indices,
    sparse_dim, dense_dim, sparse_resize_, sparse_resize_and_clear_, resize_as_sparse_, smm, sspaddmm,
)  # fmt: skip
