"""Sparse tensors, which store the indices and values of some elements; all others are zero.

>>> s = torch.tensor([[0, 0, 3.0], [4, 0, 5]]).to_sparse_csr()
>>> s @ torch.ones(3)
tensor([3., 9.])

Design. A sparse tensor is an instance of `SparseTensor`, a subclass of Tensor. The fast path of an operation already tests
whether its arguments are plain tensors, so that calls on dense tensors have no overhead. Calls with a sparse tensor go to
`SparseTensor.__torch_function__`, which looks up the function by its name in the table `IMPLEMENTATIONS`. Functions that are not
in the table raise PyTorch's errors. The `_array` of a sparse tensor is a `SparseArray` (`engine/devices/sparse_arrays.py`): a
layout, index arrays, values, and the dispatch key of the values. The engine passes it as a gradient to leaves and to the nodes of
this package; for all other nodes, it is converted to a dense array.

Implementations call operations on values and indices, which are dense tensors. Derivatives of all orders follow from two
differentiable functions: `values_of` returns the values of a sparse tensor, and `build` creates a sparse tensor; the gradient of
each is computed by the other. Such a gradient has the indices of its tensor. Gradients of linear functions and of products have
entries wherever the incoming gradient has some, and are dense if it is dense, as in PyTorch: `apply_linear` and `Function`
compute them. A `Function` also computes the gradients of `torch.mm` and `S.sum()`, which are dense. Batches of compressed
matrices are split into matrices and stacked again (`batches.py`) if indices change; products of batches are not implemented.

The package is imported when one of its names is first used.
"""

from __future__ import annotations

from . import elementwise, shapes, text  # noqa: F401 (they register implementations)
from .construction import rebuild as rebuild
from .embedding import embedding as embedding
from .embedding import gather as gather
from .gradients import as_sparse_gradcheck
from .invariants import check_sparse_tensor_invariants
from .layouts import empty as empty
from .legacy_types import BFloat16Tensor as BFloat16Tensor
from .legacy_types import ByteTensor as ByteTensor
from .legacy_types import CharTensor as CharTensor
from .legacy_types import DoubleTensor as DoubleTensor
from .legacy_types import FloatTensor as FloatTensor
from .legacy_types import HalfTensor as HalfTensor
from .legacy_types import IntTensor as IntTensor
from .legacy_types import LongTensor as LongTensor
from .legacy_types import ShortTensor as ShortTensor
from .products import addmm, mm, sampled_addmm
from .reductions import log_softmax, softmax, sum
from .semi_structured import (
    SparseSemiStructuredTensor,
    SparseSemiStructuredTensorCUSPARSELT,
    SparseSemiStructuredTensorCUTLASS,
    to_sparse_semi_structured,
)  # fmt: skip
from .solving import solve, spdiags, spsolve
from .tensors import IMPLEMENTATIONS as IMPLEMENTATIONS

__all__ = [
    "SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT", "SparseSemiStructuredTensorCUTLASS", "addmm",
    "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "solve", "spdiags",
    "spsolve", "sum", "to_sparse_semi_structured",
]  # fmt: skip
