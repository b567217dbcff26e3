"""Operators of `torch.ops.prims` that libraries look for in graphs."""

from __future__ import annotations

from typing import Any

from ..engine.tensors.tensor import Tensor

__all__ = ["convert_element_type"]


def convert_element_type(a: Tensor, dtype: Any) -> Tensor:
    """Return a copy of a tensor in another dtype."""
    return a.to(dtype, copy=True)
