"""A step of an optimizer, a piece of a parameter at a time: piece, gradient and state stay in the cache for all of it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .kernels import kernel
from .pieces import PIECE, pieces
from .quiet import quiet


@lru_cache(4)
def _factors(dtype: Any, lr: float, beta1: float, beta2: float, eps: float, step: int) -> tuple[Any, ...]:
    """The numbers of a step, as arrays, which a ufunc takes faster: the same for all parameters of a group."""
    correction = math.sqrt(1 - beta2**step)  # of the denominator, outside of it: that saves a pass
    factors = 1 - beta1, beta2, 1 - beta2, eps * correction, lr / (1 - beta1**step) * correction
    return tuple(np.asarray(each, dtype) for each in factors)


@kernel
@quiet
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
    """Adam, or AdamW where the decay is `decoupled`; `largest` is AMSGrad's.  All arrays are contiguous."""
    share, kept, new, least, rate = _factors(param.dtype, lr, beta1, beta2, eps, step)
    decay, shrink = (0.0, 1 - lr * weight_decay) if decoupled else (weight_decay, 1.0)
    arrays = [each.reshape(-1) for each in (param, grad, mean, square) if each is not None]
    scratch = np.empty(min(param.size, PIECE), param.dtype)
    for piece in pieces(param.size):
        p, g, m, v = (each[piece] for each in arrays)
        made = scratch[: p.size]
        if maximize:
            g = -g
        if shrink != 1:
            p *= shrink
        if decay:
            g = g + decay * p
        np.subtract(g, m, made)
        np.multiply(made, share, made)
        np.add(m, made, m)
        np.multiply(g, g, made)
        np.multiply(made, new, made)
        np.multiply(v, kept, v)
        np.add(v, made, v)
        if largest is not None:
            most = largest.reshape(-1)[piece]
            v = np.maximum(most, v, out=most)
        np.sqrt(v, made)
        np.add(made, least, made)
        np.divide(m, made, made)
        np.multiply(made, rate, made)
        np.subtract(p, made, p)
