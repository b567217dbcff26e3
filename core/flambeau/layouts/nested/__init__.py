"""Nested tensors: batches of tensors that differ in size.

>>> sentences = torch.nested.nested_tensor([torch.ones(3, 2), torch.ones(5, 2)], layout=torch.jagged)
>>> layer = torch.nn.Linear(2, 4)
>>> layer(sentences).sum(1).shape
torch.Size([2, 4])

Design. A nested tensor is an instance of a subclass of Tensor. One dense tensor, `_values`, holds the elements of all items. In
the layout `torch.jagged` (`NestedTensor`), items differ in one *ragged* dimension, and offsets mark where each item begins along
it. In `torch.strided` (`StridedNestedTensor`), the size of each item is stored. `Nested.__torch_function__` receives all calls,
and looks up an implementation by the function's name, then by its kind. Other functions raise PyTorch's errors.

Implementations call operations on the values, which autograd records. So a nested tensor has no node apart from that of its
values: it requires a gradient if they do, and its gradient is built from theirs. In the jagged layout, a pointwise function takes
one call for all items, and functions along the ragged dimension pad the items; in the strided layout, most run item by item.

The package is imported when one of its names is first used.
"""

from __future__ import annotations

from . import elementwise, products, reductions, shapes  # noqa: F401 (they register implementations)
from .construction import _nested_view_from_buffer as _nested_view_from_buffer
from .construction import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)  # fmt: skip

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]
