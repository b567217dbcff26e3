"""The gradient of an embedding: sums of rows by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .kernels import kernels

LEAST = 1 << 12


@fast(LEAST)
def sum_rows(input: Any, indices: Any, count: int) -> Any:
    places = np.ascontiguousarray(indices, np.int64).reshape(-1)
    if not is_dense(input) or places.min() < 0 or places.max() >= count:
        return None
    width = input.shape[-1]
    sums = np.zeros((count, width), FLOAT)
    kernels.sum_rows(sums, input.reshape(-1, width), places)
    return sums
