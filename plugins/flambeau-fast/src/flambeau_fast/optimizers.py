"""A step of Adam in one loop over parameter, gradient and state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .choice import FLOAT, KERNELS, process
from .lazy import Lazy

loops = Lazy("loops.elementwise")

LEAST = 1 << 14


def adam_step(
    param: Any, grad: Any, mean: Any, square: Any, largest: Any = None, *, lr: float, beta1: float, beta2: float, eps: float,
    weight_decay: float = 0.0, step: int = 1, decoupled: bool = False, maximize: bool = False,
) -> None:  # fmt: skip
    """Adam, or AdamW where the decay is ``decoupled``; ``largest`` is AMSGrad's.  All arrays are contiguous."""
    correction = math.sqrt(1 - beta2**step)
    rate, eps = lr / (1 - beta1**step) * correction, eps * correction  # corrected outside of the denominator
    decay, shrink = (0.0, 1 - lr * weight_decay) if decoupled else (weight_decay, 1.0)
    sign = -1.0 if maximize else 1.0
    if param.size >= LEAST and param.dtype is FLOAT and largest is None and not process.forked:
        numbers = map(FLOAT.type, (sign, decay, shrink, 1 - beta1, beta2, rate, eps))
        loops.adam_step(*(each.reshape(-1) for each in (param, grad, mean, square)), *numbers)
        return
    if shrink != 1:
        param *= shrink
    slope = sign * grad if decay == 0 else sign * grad + decay * param
    mean += (1 - beta1) * (slope - mean)
    square *= beta2
    square += (1 - beta2) * (slope * slope)
    if largest is not None:
        square = np.maximum(largest, square, largest)
    param -= rate * mean / (np.sqrt(square) + eps)


KERNELS["adam_step"] = adam_step
