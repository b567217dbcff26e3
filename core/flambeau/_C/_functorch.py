"""What libraries take from `torch._C._functorch`: whether a tensor is one of `vmap`'s.  For tensordict, gpytorch, pennylane."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor

__all__ = ["is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor", "is_legacy_batchedtensor"]


def is_batchedtensor(tensor: Any) -> bool:
    """Whether it stands for a batch, inside of `vmap`."""
    return isinstance(tensor, Tensor) and bool(getattr(tensor._key, "levels", ()))


def is_gradtrackingtensor(tensor: Any) -> bool:
    """False: inside of `grad`, tensors are those that they are outside."""
    return False


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: there is one `vmap`.  For kornia."""
    return False


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether it stands for a batch, inside of `vmap`."""
    return is_batchedtensor(tensor)
