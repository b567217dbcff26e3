"""What is the same in each call: dtypes, and arrays that are remembered, which must not be written to."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.lib import introspect

__all__ = ["WIDER", "has_vectors", "number", "ones"]

WIDER = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}

_FEW = 1 << 13  # elements up to which vectors are remembered


def ones(count: int, dtype: Any) -> Any:
    """A vector of ones, for sums by matrix products.  It may be remembered."""
    return _few_ones(count, dtype) if count < _FEW else np.ones(count, dtype)


_few_ones = lru_cache(32)(np.ones)


@lru_cache(256)
def number(value: float, dtype: Any) -> Any:
    """A Python number as a 0-d array, which ufuncs take faster."""
    return np.array(value, dtype)


@cache
def has_vectors(name: str) -> bool:
    """Whether NumPy has a function of singles in vectors of this processor; else the C library takes one after the other."""
    loops = introspect.opt_func_info(func_name=f"^{name}$").get(name, {})
    return "baseline" not in loops.get("ff", {}).get("current", "baseline")
