"""Conversions to the 8-bit floating-point dtypes of `ml_dtypes`, with PyTorch's rounding of very large and small numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from flambeau.engine.values import dtypes

__all__ = ["converted", "is_complex32", "is_float8", "missing_dtypes", "raw_dtypes"]

_PACKAGES = dict.fromkeys((dtypes.bfloat16, *dtypes.FLOAT8), "ml_dtypes") | {dtypes.complex32: "ml_dtypes>=0.6"}


@cache
def raw_dtypes() -> Mapping[dtypes.dtype, Any]:
    """Return NumPy's dtype for each flambeau dtype; bfloat16, 8-bit floats and complex32 come from ml_dtypes, if installed."""
    found = {d: np.dtype(d.name) for d in dtypes.ALL if d not in _PACKAGES}
    try:
        import ml_dtypes
    except ModuleNotFoundError:  # some systems have no build of it, such as WASI
        return found
    return found | {d: np.dtype(getattr(ml_dtypes, d.name)) for d in _PACKAGES if hasattr(ml_dtypes, d.name)}


def missing_dtypes() -> Mapping[dtypes.dtype, str]:
    """Return the dtypes that are not available, each with the package that provides it."""
    return {d: package for d, package in _PACKAGES.items() if d not in raw_dtypes()}


def is_float8(raw_dtype: Any) -> bool:
    """Whether `raw_dtype` is an 8-bit floating-point dtype."""
    return raw_dtype is not None and raw_dtype.itemsize == 1 and raw_dtype.kind in "fV"


def is_complex32(raw_dtype: Any) -> bool:
    """Whether `raw_dtype` is complex32 (two float16), which only ml_dtypes provides."""
    return bool(raw_dtype.itemsize == 4 and raw_dtype.kind in "cW")  # "W" before ml_dtypes 0.7


def converted(array: np.ndarray, raw_dtype: Any) -> np.ndarray:
    """Convert a real array to an 8-bit floating-point dtype, by way of float32."""
    single = array.astype(np.float32)
    name = raw_dtype.name
    if name == "float8_e8m0fnu":
        return _nearest_powers_of_two(single).view(raw_dtype)
    with np.errstate(all="ignore"):
        if name == "float8_e4m3fn":  # this dtype has no infinities; PyTorch saturates large values, NumPy returns NaN
            single = np.clip(single, -448, 448)
        return single.astype(raw_dtype)


def _nearest_powers_of_two(array: np.ndarray) -> np.ndarray:
    """Return the biased exponents of magnitudes rounded to the nearest power of two (ties go up); 255 for infinities and NaN."""
    bits = np.ascontiguousarray(array).view(np.uint32).reshape(array.shape)
    exponent = (bits >> 23) & 0xFF
    is_more_than_half = ((bits >> 22) & 1 > 0) & (((bits & 0x3FFFFF) > 0) | (exponent > 0))
    return (exponent + (is_more_than_half & (exponent < 0xFF))).astype(np.uint8)
