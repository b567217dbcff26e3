"""CuPy as an array-API namespace: array-api-compat, without its `clip` and `isdtype`.

Its `clip` synchronizes with the device; its `isdtype` does not support bfloat16.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_compat.cupy
import cupy

__all__ = ["xp"]


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Limit `x` to `[min, max]`, keeping its dtype; NaN if any operand is NaN."""
    clipped = x if min is None else cupy.maximum(x, min)
    clipped = clipped if max is None else cupy.minimum(clipped, max)
    return clipped.astype(x.dtype, copy=clipped is x)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Like the array API's `isdtype`, with support for bfloat16."""
    if dtype.name == "bfloat16":
        return bool({"real floating", "numeric"} & {*(kind if isinstance(kind, tuple) else (kind,))})
    return bool(array_api_compat.cupy.isdtype(dtype, kind))


xp = ModuleType("cupy")
xp.__dict__.update(array_api_compat.cupy.__dict__, clip=clip, isdtype=isdtype)
