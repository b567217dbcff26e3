"""The backend's array-API namespace: NumPy's, extended to treat the dtypes of `ml_dtypes` as floating-point."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["namespace"]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Like `numpy.isdtype`, which raises for dtypes that are not NumPy's."""
    if getattr(dtype, "isbuiltin", 1) != 2:
        return np.isdtype(dtype, kind)
    return any(
        category in ("real floating", "numeric") or category == dtype
        for category in (kind if isinstance(kind, tuple) else (kind,))
    )


def finfo(dtype: Any) -> Any:
    """Like `numpy.finfo`, which raises for dtypes that are not NumPy's."""
    if getattr(dtype, "isbuiltin", 1) != 2:
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


class _Writable:
    """Expose the memory of an array as writable, through its `__array_interface__`."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array  # keeps the memory alive
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def from_dlpack(x: Any, /, **options: Any) -> np.ndarray:
    """Like `numpy.from_dlpack`, but the result is writable: for version 0 of the protocol NumPy returns read-only arrays."""
    array = np.from_dlpack(x, **options)
    return array if array.flags.writeable else np.asarray(_Writable(array))


def astype(x: np.ndarray, dtype: Any, /, *, copy: bool = True) -> np.ndarray:
    """Like `numpy.astype`, but overflow warnings are not attributed to NumPy's module."""
    return x.astype(dtype, copy=copy)


namespace = ModuleType("numpy", np.__doc__)
namespace.__dict__.update(vars(np))
namespace.__dict__.update(
    isdtype=isdtype, finfo=finfo, from_dlpack=from_dlpack, astype=astype, __getattr__=lambda name: getattr(np, name)
)
