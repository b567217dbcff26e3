"""Private helpers of PyTorch that programs import nevertheless."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .calls.overriding import handle_torch_function, has_torch_function
from .calls.transform_hooks import hooks
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
    """The elements of all tensors, in one one-dimensional tensor."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Consecutive parts of `flat` as views, in the shapes of `tensors`."""
    parts, start = [], 0
    for tensor in tensors:
        parts.append(flat.narrow(0, start, tensor.numel()).view_as(tensor))
        start += tensor.numel()
    return tuple(parts)


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor from its layout and parts: what pickles of sparse tensors call."""
    tensor: Tensor = hooks.sparse("rebuild")(layout, data)
    return tensor
