"""The arguments of the constructor of nested tensors."""

from __future__ import annotations

from typing import Any

from ...layouts.nested.tensors import NestedTensor

__all__ = ["extract_kwargs"]


def extract_kwargs(arg: NestedTensor) -> dict[str, Any]:
    """Return the arguments of `NestedTensor` except the values, for a tensor with the same offsets."""
    return {
        "offsets": arg._offsets,
        "lengths": arg._lengths,
        "_metadata_cache": arg._metadata_cache,
        "_ragged_idx": arg._ragged_idx,
    }
