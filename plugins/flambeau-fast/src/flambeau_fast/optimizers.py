"""The Adam optimizer step in one loop over parameter, gradient and state."""

from __future__ import annotations

import math
from typing import Any

from flambeau_backends.numpy.packs import without_warnings

from .choice import FLOAT, fast, is_dense
from .kernels import kernels

LEAST = 1 << 14


@fast(LEAST)
@without_warnings
def adam_step(
    param: Any,
    grad: Any,
    mean: Any,
    square: Any,
    largest: Any = None,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0.0,
    step: int = 1,
    decoupled: bool = False,
    maximize: bool = False,
) -> bool | None:
    """Compute a step of Adam, or AdamW if `decoupled`. Return None for AMSGrad (`largest`) and non-contiguous arrays."""
    if largest is not None or not is_dense(param, grad, mean, square) or not param.flags.writeable:
        return None
    correction = math.sqrt(1 - beta2**step)
    rate, eps = lr / (1 - beta1**step) * correction, eps * correction  # the bias correction of `square`, moved to the scalars
    decay, shrink = (0.0, 1 - lr * weight_decay) if decoupled else (weight_decay, 1.0)
    numbers = map(FLOAT.type, (-1 if maximize else 1, decay, shrink, 1 - beta1, beta2, rate, eps))
    kernels.adam_step(*(array.reshape(-1) for array in (param, grad, mean, square)), *numbers)
    return True
