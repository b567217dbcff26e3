"""What another nested tensor of the same items is made with."""

from __future__ import annotations

from typing import Any

from ..tensors import NestedTensor

__all__ = ["extract_kwargs"]


def extract_kwargs(arg: NestedTensor) -> dict[str, Any]:
    """All arguments of `NestedTensor` but the values.  For tensordict."""
    return {
        "offsets": arg._offsets,
        "lengths": arg._lengths,
        "_metadata_cache": arg._metadata_cache,
        "_ragged_idx": arg._ragged_idx,
    }
