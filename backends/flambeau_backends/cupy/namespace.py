"""CuPy as the array API standard has it: by way of array-api-compat, but for where that waits for the device."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_compat.cupy
import cupy

__all__ = ["xp"]


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """The elements, no less than `min` and no more than `max`; NaN if one of the three is.  The dtype is that of `x`."""
    made = x if min is None else cupy.maximum(x, min)
    made = made if max is None else cupy.minimum(made, max)
    return made.astype(x.dtype, copy=made is x)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind; of bfloat16 NumPy does not know."""
    if dtype.name == "bfloat16":
        return bool({"real floating", "numeric"} & {*(kind if isinstance(kind, tuple) else (kind,))})
    return bool(array_api_compat.cupy.isdtype(dtype, kind))


xp = ModuleType("cupy")
xp.__dict__.update(array_api_compat.cupy.__dict__, clip=clip, isdtype=isdtype)
