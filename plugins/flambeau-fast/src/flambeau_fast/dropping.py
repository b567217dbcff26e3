"""Dropout in one loop (random numbers, scaling and product), with PyTorch's random stream."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.backend import memory_order
from flambeau_backends.numpy.packs import Generator

from .choice import FLOAT, fast
from .kernels import kernels

LEAST = 1 << 12


@fast(LEAST)
def fused_dropout(input: Any, keep: float, generator: Generator) -> Any:
    order = memory_order(input.shape, input.strides)
    permuted = input.transpose(order)
    if not permuted.flags.c_contiguous:
        return None
    back = np.argsort(order)
    return tuple(array.transpose(back) for array in _by_loop(permuted, keep, generator))


def _by_loop(input: Any, keep: float, generator: Generator) -> tuple[Any, Any]:
    key, position = generator._words.state
    below = math.ceil(keep * 2**53)
    outputs = np.empty((2, *input.shape), FLOAT)
    result, noise = outputs.reshape(2, -1)
    used = np.array([position], np.int64)
    scale = FLOAT.type(1) / FLOAT.type(keep)
    kernels.dropout(result, noise, input.reshape(-1), key, used, below >> 32, below & 0xFFFFFFFF, scale)
    generator._words.state = key, int(used[0])
    return outputs[0], outputs[1]
