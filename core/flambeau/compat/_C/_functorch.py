"""`torch._C._functorch`: functions that detect and unwrap tensors batched by `vmap`."""

from __future__ import annotations

from typing import Any

from ...engine.tensors.tensor import Tensor
from ...transforms.batching.keys import drop_level
from ...transforms.batching.levels import levels_of
from ...transforms.batching.vmap import _add_batch_dim as _add_batch_dim
from ...transforms.batching.vmap import _remove_batch_dim as _remove_batch_dim

__all__ = ["get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor", "is_legacy_batchedtensor"]


def is_batchedtensor(tensor: Any) -> bool:
    """Whether the tensor is batched by a surrounding `vmap`."""
    return isinstance(tensor, Tensor) and bool(getattr(tensor._key, "levels", ()))


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Return False: `torch.func.grad` does not wrap tensors in flambeau."""
    return False


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """Return False: flambeau has no legacy `vmap` with its own kind of batched tensors."""
    return False


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether the tensor is batched by a surrounding `vmap`."""
    return is_batchedtensor(tensor)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """Return the whole batch of a tensor inside `vmap`: the innermost batch dimension becomes dimension 0."""
    levels = levels_of(tensor._key)
    if not levels:
        raise RuntimeError("get_unwrapped() expects a tensor batched by vmap")
    return drop_level(tensor, levels[-1], 0)  # type: ignore[no-any-return]  # a tensor
