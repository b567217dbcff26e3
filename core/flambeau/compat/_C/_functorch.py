"""What libraries take from `torch._C._functorch`: whether a tensor is one of `vmap`'s."""

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
    """False: inside of `grad`, tensors are those that they are outside."""
    return False


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: there is one `vmap`."""
    return False


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether the tensor is batched by a surrounding `vmap`."""
    return is_batchedtensor(tensor)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor outside of the innermost `vmap` that it is in, the batch being its first dimension."""
    levels = levels_of(tensor._key)
    if not levels:
        raise RuntimeError("get_unwrapped() expects a tensor that stands for a batch")
    return drop_level(tensor, levels[-1], 0)  # type: ignore[no-any-return]  # a tensor
