"""The class of nested tensors in the jagged layout, and the symbols of their sizes, where PyTorch has them."""

from __future__ import annotations

from ..padding import from_padded
from ..sizes import SYMBOLS as _tensor_symint_registry
from ..sizes import size_of as get_tensor_symint
from ..tensors import NestedTensor, _rebuild_njt

__all__ = ["NestedTensor", "_rebuild_njt", "_tensor_symint_registry", "from_padded", "get_tensor_symint"]
