"""Small helpers that programs take from PyTorch's insides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .calls.transform_hooks import hooks
from .operations.joining import cat
from .tensors.tensor import Tensor

__all__: list[str] = []


def _assert(condition: Any, message: str) -> None:
    """`assert`, as a function."""
    if not condition:
        raise AssertionError(message)


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


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor from its layout and parts: what pickles of sparse tensors call."""
    made: Tensor = hooks.sparse("rebuild")(layout, data)
    return made
