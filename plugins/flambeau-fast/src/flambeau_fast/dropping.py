"""Dropout: the draws, the scaling and the product in one loop, from PyTorch's stream of random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau_backends.numpy.random import Generator, fill_order

from .choice import FLOAT, KERNELS
from .lazy import Lazy

loops = Lazy("loops.random")

LEAST = 1 << 12


def fused_dropout(input: Any, keep: float, generator: Generator) -> tuple[Any, Any]:
    """The result, and what the input was multiplied by; the NumPy backend itself has no such kernel."""
    order = fill_order(np.empty_like(input).strides)
    turned = input.transpose(order)
    if input.dtype is FLOAT and input.size >= LEAST and turned.flags.c_contiguous:
        made = _by_loop(turned, keep, generator)
    else:
        noise = generator.bernoulli(turned.shape, input.dtype, keep)
        noise /= input.dtype.type(keep)
        made = turned * noise, noise
    back = np.argsort(order)
    return made[0].transpose(back), made[1].transpose(back)


def _by_loop(input: Any, keep: float, generator: Generator) -> tuple[Any, Any]:
    engine = generator._bits.state
    state, below = engine["state"], math.ceil(keep * 2**53)
    made = np.empty((2, *input.shape), FLOAT)
    result, noise = made.reshape(2, -1)
    state["pos"] = loops.dropout(result, noise, input.reshape(-1), state["key"], state["pos"], np.uint32(below >> 32),
                                 np.uint32(below & 0xFFFFFFFF), FLOAT.type(1) / FLOAT.type(keep))  # fmt: skip
    generator._bits.state = engine
    return made[0], made[1]


KERNELS["fused_dropout"] = fused_dropout
