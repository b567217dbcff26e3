"""CuPy as an array-API namespace: array-api-compat, with replacements for functions that synchronize with the device."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_compat.cupy
import cupy

__all__ = ["xp"]


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Limit `x` to `[min, max]`, in the dtype of `x`; NaN if any of the three is NaN."""
    clipped = x if min is None else cupy.maximum(x, min)
    clipped = clipped if max is None else cupy.minimum(clipped, max)
    return clipped.astype(x.dtype, copy=clipped is x)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Like the array API's `isdtype`, also for bfloat16, which NumPy does not support."""
    if dtype.name == "bfloat16":
        return bool({"real floating", "numeric"} & {*(kind if isinstance(kind, tuple) else (kind,))})
    return bool(array_api_compat.cupy.isdtype(dtype, kind))


xp = ModuleType("cupy")
xp.__dict__.update(array_api_compat.cupy.__dict__, clip=clip, isdtype=isdtype)
