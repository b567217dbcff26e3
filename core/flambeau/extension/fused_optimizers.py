"""Optimizer steps in one kernel, where the backend of a parameter, or a kernel pack, has one."""

from __future__ import annotations

from typing import Any

from ..tape.fast_path import FAST
from ..tape.grad_mode import is_grad_enabled
from ..tensors.tensor import Tensor
from ..values import dtypes

__all__ = ["fused_step", "has_step"]


def has_step(name: str, param: Tensor) -> bool:
    """Whether there is a kernel called `name`, such as `"adam_step"`, where the parameter is.

    >>> import flambeau as torch
    >>> has_step("no_such_step", torch.ones(1))
    False
    """
    return name in param._key.backend.all_kernels


def fused_step(name: str, param: Tensor, grad: Tensor, *states: Tensor | None, **options: Any) -> bool:
    """Update a parameter and its states by the kernel called `name`, if it can; returns whether it did.

    The kernel is given raw arrays, contiguous and all float32 or all float64: the parameter, its gradient, the states (None for
    one that there is not), and then the options by name.  It writes to all of them but the gradient.
    """
    key, shape = param._key, param._array.shape
    written = [param, *[each for each in states if each is not None]]
    if key.dtype not in (dtypes.float32, dtypes.float64) or is_grad_enabled() or type(param) not in FAST:
        return False
    for each in (grad, *written):
        if each._key is not key or each._array.shape != shape:
            return False
    is_contiguous = key.backend.is_contiguous
    for each in written:
        if not is_contiguous(each._array):
            return False
    arrays = [None if each is None else each._array for each in states]
    key.backend.all_kernels[name](param._array, grad.contiguous()._array, *arrays, **options)
    for each in written:
        each._bump_version()
    return True
