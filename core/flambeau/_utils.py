"""Small helpers that programs take from PyTorch's insides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .calls.overriding import handle_torch_function, has_torch_function
from .operations.joining import cat
from .tensors.tensor import Tensor

__all__: list[str] = []


def _assert(condition: Any, message: str) -> Any:
    """`assert`, as a function."""
    if has_torch_function((condition,)):
        return handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)
    return None


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all tensors in one, with one dimension."""
    return cat([each.reshape(-1) for each in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of one tensor's elements, in the shapes of others, one after the other."""
    parts, start = [], 0
    for each in tensors:
        parts.append(flat.narrow(0, start, each.numel()).view_as(each))
        start += each.numel()
    return tuple(parts)
