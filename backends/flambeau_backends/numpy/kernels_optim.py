"""The Adam optimizer step, chunk by chunk, so that parameter, gradient and state stay in the processor's cache."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .chunks import map_chunks
from .error_state import without_warnings
from .kernels import kernel


@lru_cache(4)
def _factors(dtype: Any, lr: float, beta1: float, beta2: float, eps: float, step: int) -> tuple[Any, ...]:
    """Return the scalars of a step, the same for all parameters of a group, as 0-d arrays, which ufuncs accept faster."""
    correction = math.sqrt(1 - beta2**step)  # bias correction of the denominator, factored out to save a pass
    factors = 1 - beta1, beta2, 1 - beta2, eps * correction, lr / (1 - beta1**step) * correction
    return tuple(np.asarray(factor, dtype) for factor in factors)


@kernel
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
) -> None:
    """Compute a step of Adam, or AdamW if `decoupled`; `largest` is AMSGrad's running maximum.  All arrays are contiguous."""
    mean_weight, square_decay, square_weight, scaled_eps, step_size = _factors(param.dtype, lr, beta1, beta2, eps, step)
    decay, shrink = (0.0, 1 - lr * weight_decay) if decoupled else (weight_decay, 1.0)
    arrays = [array.reshape(-1) for array in (param, grad, mean, square) if array is not None]

    def update(chunk: slice) -> None:
        p, g, m, v = (array[chunk] for array in arrays)
        if maximize:
            g = -g
        if shrink != 1:
            p *= shrink
        if decay:
            g = g + decay * p
        buffer = np.subtract(g, m)
        np.multiply(buffer, mean_weight, buffer)
        np.add(m, buffer, m)
        np.multiply(g, g, buffer)
        np.multiply(buffer, square_weight, buffer)
        np.multiply(v, square_decay, v)
        np.add(v, buffer, v)
        if largest is not None:
            maximum = largest.reshape(-1)[chunk]
            v = np.maximum(maximum, v, out=maximum)
        np.sqrt(v, buffer)
        np.add(buffer, scaled_eps, buffer)
        np.divide(m, buffer, buffer)
        np.multiply(buffer, step_size, buffer)
        np.subtract(p, buffer, p)

    map_chunks(update, param.size)
