"""Sums over all dimensions, or over the last and perhaps the first of them, as the biases of channels want them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .lazy import Lazy

loops = Lazy("loops.sums")

LEAST = 1 << 14
STRIP = 1 << 15  # elements of a vector for a thread at a time


def _kept(ndim: int, dim: Any) -> range | None:
    """The dimensions that are not summed; None where they are not side by side."""
    dims = dim if isinstance(dim, (tuple, list)) else [dim]
    summed = range(ndim) if dim is None or dim == () else {each % ndim for each in dims}
    kept = [each for each in range(ndim) if each not in summed]
    found = range(kept[0], kept[-1] + 1) if kept else range(0)
    return found if len(found) == len(kept) else None


@fast(LEAST)
def sum_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    kept = _kept(input.ndim, dim) if is_dense(input) else None
    if kept is None or not input.size:
        return None
    shape = input.shape
    before, width, after = prod(shape[: kept.start]), prod(shape[kept.start : kept.stop]), prod(shape[kept.stop :])
    if not kept:
        strips = np.empty(-(-input.size // STRIP), np.float64)
        loops.of_strips(strips, input.reshape(-1))
        made = strips.sum().astype(FLOAT)
    elif after > 1:
        made = np.empty(width, FLOAT)
        loops.of_channels(made, input.reshape(before, width, after))
    else:  # a column each, for which there is no better way than NumPy's
        return None
    return made.reshape([n if each in kept else 1 for each, n in enumerate(input.shape) if keepdim or each in kept])
