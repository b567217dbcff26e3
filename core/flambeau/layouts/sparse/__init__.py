"""Sparse tensors, which store the indices and values of some elements; all others are zero.

>>> s = torch.tensor([[0, 0, 3.0], [4, 0, 5]]).to_sparse_csr()
>>> s @ torch.ones(3)
tensor([3., 9.])

Design. A sparse tensor is an instance of `SparseTensor`, a subclass of Tensor: an operation's straight path asks whether its
arguments are plain tensors, as it always does, and so dense calls pay nothing. Everything else takes the way of any subclass
and comes to `SparseTensor.__torch_function__`, which finds the function by its name in one table, `IMPLEMENTATIONS`; what is
not there is refused as PyTorch refuses it. In the place of an array such a tensor has a `SparseArray`
(`engine/devices/sparse_arrays.py`): a layout, index arrays, values, and the dispatch key of these. The engine passes it along as
a gradient, to leaves and to the nodes of this package; before any other node it becomes dense.

The implementations are written with operations on the values and the indices, which are dense tensors. So derivatives of all
orders follow, from a pair of functions that take a sparse tensor apart and make one, `values_of` and `build`: the gradient of
either is the other. Where PyTorch's gradient is dense (`torch.mm`, `S.sum()`), a `Function` says so. Batches of compressed
matrices are taken apart into matrices, and made of such (`batches.py`), where places matter; there are no products of them.

The package is loaded when the first of its names is used.
"""

from __future__ import annotations

from . import elementwise, shapes, text  # noqa: F401 (they register what they implement)
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
