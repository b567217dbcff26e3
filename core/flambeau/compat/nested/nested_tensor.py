"""`torch.nested._internal.nested_tensor`: jagged nested tensors, and the symbolic sizes of ragged dimensions."""

from __future__ import annotations

from ...layouts.nested.padding import from_padded
from ...layouts.nested.sizes import SYMBOLS as _tensor_symint_registry
from ...layouts.nested.sizes import size_of as get_tensor_symint
from ...layouts.nested.tensors import NestedTensor, _rebuild_njt

__all__ = ["NestedTensor", "_rebuild_njt", "_tensor_symint_registry", "from_padded", "get_tensor_symint"]
