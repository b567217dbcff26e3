"""Nested tensors: batches of tensors that differ in size.

>>> sentences = torch.nested.nested_tensor([torch.ones(3, 2), torch.ones(5, 2)], layout=torch.jagged)
>>> layer = torch.nn.Linear(2, 4)
>>> layer(sentences).sum(1).shape
torch.Size([2, 4])

Design. A nested tensor is an instance of a subclass of Tensor that holds the elements of all its items as one dense tensor, and
what says where the items are: for the layout `torch.jagged` (`NestedTensor`) offsets into the one dimension in which they differ,
for `torch.strided` (`StridedNestedTensor`) the size of each. Calls come to `Nested.__torch_function__`, which finds by its name
what a function means, in the table of the layout or in that of both; what is in none is refused as PyTorch refuses it.

The implementations are written with operations on the values, which are recorded as those of any tensor. So a nested tensor needs
no graph of its own: it requires a gradient if its values do, and its gradient is theirs. In the jagged layout what works element
by element takes one call for all items, and what goes along the ragged dimension pads them; in the strided one, most is done item
by item.

The package is loaded when the first of its names is used.
"""

from __future__ import annotations

from . import elementwise, products, reductions, shapes  # noqa: F401 (they register what they implement)
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
