"""Dtypes, and cached constant arrays, which must not be written to."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.lib import introspect

__all__ = ["WIDER", "has_vectors", "number", "ones"]

WIDER = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}

_CACHED_LENGTH = 1 << 13  # vectors shorter than this are cached


def ones(count: int, dtype: Any) -> Any:
    """Return a vector of ones, for sums by matrix products.  It may be cached, so do not write to it."""
    return _cached_ones(count, dtype) if count < _CACHED_LENGTH else np.ones(count, dtype)


_cached_ones = lru_cache(32)(np.ones)


@lru_cache(256)
def number(value: float, dtype: Any) -> Any:
    """Return a number as a cached 0-d array, which ufuncs accept faster than a Python number."""
    return np.array(value, dtype)


@cache
def has_vectors(name: str) -> bool:
    """Whether NumPy has a vectorized float32 loop for this function and processor; if not, it calls the C library."""
    loops = introspect.opt_func_info(func_name=f"^{name}$").get(name, {})
    return "baseline" not in loops.get("ff", {}).get("current", "baseline")
