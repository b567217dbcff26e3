"""Fused optimizer steps: one kernel per step, if the backend of the parameter or a kernel pack has one."""

from __future__ import annotations

from typing import Any

from ..tape.fast_path import FAST
from ..tape.grad_mode import is_grad_enabled
from ..tensors.tensor import Tensor
from ..values import dtypes

__all__ = ["fused_step", "has_step", "step_count"]


def has_step(name: str, param: Tensor) -> bool:
    """Whether the parameter's backend has a kernel called `name`, such as `"adam_step"`.

    >>> import flambeau as torch
    >>> has_step("no_such_step", torch.ones(1))
    False
    """
    return name in param._key.backend.all_kernels


def fused_step(name: str, param: Tensor, grad: Tensor, *states: Tensor | None, **options: Any) -> bool:
    """Update a parameter and its optimizer state by the kernel called `name`, if possible; returns whether it was.

    The kernel gets contiguous raw arrays, all float32 or all float64: the parameter, its gradient, the states (None for a missing
    one), and then the options by name.  It writes to all arrays except the gradient.
    """
    key, shape = param._key, param._array.shape
    written = [param, *[state for state in states if state is not None]]
    if key.dtype not in (dtypes.float32, dtypes.float64) or is_grad_enabled() or type(param) not in FAST:
        return False
    for tensor in (grad, *written):
        if tensor._key is not key or tensor._array.shape != shape:
            return False
    is_contiguous = key.backend.is_contiguous
    for tensor in written:
        if not is_contiguous(tensor._array):
            return False
    arrays = [None if state is None else state._array for state in states]
    key.backend.all_kernels[name](param._array, grad.contiguous()._array, *arrays, **options)
    for tensor in written:
        tensor._bump_version()
    return True


def step_count(step: Tensor) -> float:
    """The number of steps that a 0-d tensor counts, as a number that compiled steps compute again.

    >>> import flambeau as torch
    >>> step_count(torch.tensor(3.0))
    3.0
    """
    count: float = step._key.backend.number(step._array)
    return count
