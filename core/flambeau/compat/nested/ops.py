"""`torch.nested._internal.ops`: the constructor arguments of a nested tensor."""

from __future__ import annotations

from typing import Any

from ...layouts.nested.tensors import NestedTensor

__all__ = ["extract_kwargs"]


def extract_kwargs(arg: NestedTensor) -> dict[str, Any]:
    """Return the keyword arguments with which `NestedTensor(values, ...)` has the same offsets as `arg`."""
    return {
        "offsets": arg._offsets,
        "lengths": arg._lengths,
        "_metadata_cache": arg._metadata_cache,
        "_ragged_idx": arg._ragged_idx,
    }
