"""The methods by which tensors become sparse, and show what they are made of: `flambeau.sparse`, which they load, has them."""

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
        sparse_dim: the number of sparse dimensions (all); the others are dense dimensions of the values.
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
    """The tensor in the layout COO: an index for each value."""
    return _tensor("to_sparse_coo", self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in the layout CSR: where each row begins, and a column for each value."""
    return _tensor("to_sparse_csr", self, dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in the layout CSC: where each column begins, and a row for each value."""
    return _tensor("to_sparse_csc", self, dense_dim)


def to_sparse_bsr(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
    """The tensor in the layout BSR: as CSR, of blocks of `blocksize`, which is height and width."""
    return _tensor("to_sparse_bsr", self, blocksize, dense_dim)


def to_sparse_bsc(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
    """The tensor in the layout BSC: as CSC, of blocks of `blocksize`, which is height and width."""
    return _tensor("to_sparse_bsc", self, blocksize, dense_dim)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of the tensor in the places of a sparse one, in that one's layout.

    >>> torch.ones(2, 2).sparse_mask(torch.eye(2).to_sparse()).to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _tensor("sparse_mask", self, mask)


# --- parts --------------------------------------------------------------------------------------------------------


def coalesce(self: Tensor) -> Tensor:
    """A COO tensor with its indices sorted, and the values that stood in one place added; itself if it is so already."""
    return _tensor("coalesce", self)


def is_coalesced(self: Tensor) -> bool:
    """Whether the indices of a COO tensor are sorted, and none occurs twice."""
    return bool(_call("is_coalesced", self))


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Declare a COO tensor coalesced, or not."""
    return _tensor("_coalesced_", self, coalesced)


def indices(self: Tensor) -> Tensor:
    """The indices of a coalesced COO tensor, of shape `(sparse dimensions, nnz)`."""
    return _tensor("indices", self)


def values(self: Tensor) -> Tensor:
    """The specified elements of a sparse tensor; of a COO one only if it is coalesced."""
    return _tensor("values", self)


def _indices(self: Tensor) -> Tensor:
    """The indices of a COO tensor, coalesced or not."""
    return _tensor("_indices", self)


def _values(self: Tensor) -> Tensor:
    """The values of a COO tensor, coalesced or not, without history."""
    return _tensor("_values", self)


def crow_indices(self: Tensor) -> Tensor:
    """Where each row of a CSR or BSR tensor begins among its values, and at last their number."""
    return _tensor("crow_indices", self)


def col_indices(self: Tensor) -> Tensor:
    """The column of each value, or block, of a CSR or BSR tensor."""
    return _tensor("col_indices", self)


def ccol_indices(self: Tensor) -> Tensor:
    """Where each column of a CSC or BSC tensor begins among its values, and at last their number."""
    return _tensor("ccol_indices", self)


def row_indices(self: Tensor) -> Tensor:
    """The row of each value, or block, of a CSC or BSC tensor."""
    return _tensor("row_indices", self)


def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse; none of a dense tensor."""
    return int(_call("sparse_dim", self))


def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions; for a strided tensor, all of its dimensions."""
    return int(_call("dense_dim", self))


# --- shapes that are given, and products ----------------------------------------------------------------------------


def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a COO tensor another shape, in place, in which all of its places exist."""
    return _tensor("sparse_resize_", self, size, sparse_dim, dense_dim)


def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a COO tensor another shape, in place, and no elements."""
    return _tensor("sparse_resize_and_clear_", self, size, sparse_dim, dense_dim)


def resize_as_sparse_(self: Tensor, other: Tensor) -> Tensor:
    """Give a COO tensor the shape of another one, in place."""
    return _tensor("resize_as_sparse_", self, other)


def smm(self: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix, as a sparse one: see `torch.smm`."""
    return _tensor("smm", self, mat)


def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * self + alpha * mat1 @ mat2`, as a sparse matrix: see `torch.sspaddmm`."""
    return _tensor("sspaddmm", self, mat1, mat2, beta=beta, alpha=alpha)


METHODS = (
    to_sparse, to_sparse_coo, to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc, sparse_mask, coalesce, is_coalesced,
    _coalesced_, indices, values, _indices, _values, crow_indices, col_indices, ccol_indices, row_indices, sparse_dim, dense_dim,
    sparse_resize_, sparse_resize_and_clear_, resize_as_sparse_, smm, sspaddmm,
)  # fmt: skip
