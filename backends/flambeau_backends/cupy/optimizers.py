"""Optimizer steps with one kernel per parameter, which updates parameter and state in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import dense, formula, real
from .source import launch, pointer

__all__ = ["adam_step", "sgd_step"]


@formula
def sgd_step(
    param: Any,
    grad: Any,
    buffer: Any = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    first: bool = False,
    maximize: bool = False,
) -> None:
    """Compute a step of SGD.  `buffer` is the momentum, set by the first step; all arrays are contiguous float32 or float64."""
    numbers = map(np.float64, (lr, momentum, dampening, weight_decay))
    flags = map(np.bool_, (nesterov, first, maximize))
    launch(f"sgd_step<{real(param)}>", param.size, (param, dense(grad), pointer(buffer), np.int64(param.size), *numbers, *flags))


@formula
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
    """Compute a step of Adam, or of AdamW if `decoupled`.  `largest` is AMSGrad's running maximum."""
    numbers = map(np.float64, (lr, beta1, beta2, eps, weight_decay))
    launch(
        f"adam_step<{real(param)}>",
        param.size,
        (
            param,
            dense(grad),
            mean,
            square,
            pointer(largest),
            np.int64(param.size),
            *numbers,
            np.int64(step),
            np.bool_(decoupled),
            np.bool_(maximize),
        ),
    )
