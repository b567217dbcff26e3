"""Dropout: the draws, the scaling and the product in one loop, from PyTorch's stream of random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.backend import memory_order
from flambeau_backends.numpy.packs import Generator

from .choice import FLOAT, fast
from .lazy import Lazy

loops = Lazy("loops.random")

LEAST = 1 << 12


@fast(LEAST)
def fused_dropout(input: Any, keep: float, generator: Generator) -> Any:
    order = memory_order(input.shape, input.strides)
    turned = input.transpose(order)
    if not turned.flags.c_contiguous:
        return None
    back = np.argsort(order)
    return tuple(each.transpose(back) for each in _by_loop(turned, keep, generator))


def _by_loop(input: Any, keep: float, generator: Generator) -> tuple[Any, Any]:
    engine = generator._bits.state
    state, below = engine["state"], math.ceil(keep * 2**53)
    made = np.empty((2, *input.shape), FLOAT)
    result, noise = made.reshape(2, -1)
    state["pos"] = loops.dropout(
        result,
        noise,
        input.reshape(-1),
        state["key"],
        state["pos"],
        np.uint32(below >> 32),
        np.uint32(below & 0xFFFFFFFF),
        FLOAT.type(1) / FLOAT.type(keep),
    )
    generator._bits.state = engine
    return made[0], made[1]
