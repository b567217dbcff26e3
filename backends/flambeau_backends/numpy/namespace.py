"""The array-API namespace of the backend: NumPy's own, made to know bfloat16 as the floating-point dtype that it is."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["namespace"]


def isdtype(dtype: Any, kind: Any) -> bool:
    """``numpy.isdtype``, which refuses dtypes that are not NumPy's."""
    if getattr(dtype, "kind", "") != "V":
        return np.isdtype(dtype, kind)
    return any(each in ("real floating", "numeric") or each == dtype for each in (kind if isinstance(kind, tuple) else (kind,)))


def finfo(dtype: Any) -> Any:
    """``numpy.finfo``, which refuses dtypes that are not NumPy's."""
    if getattr(dtype, "kind", "") != "V":
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


namespace = ModuleType("numpy", np.__doc__)
namespace.__dict__.update(vars(np))
namespace.__dict__.update(isdtype=isdtype, finfo=finfo, __getattr__=lambda name: getattr(np, name))
