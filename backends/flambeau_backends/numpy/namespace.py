"""The backend's array-API namespace: NumPy's, extended with ml_dtypes' dtypes as floating-point dtypes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["namespace"]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Like `numpy.isdtype`, but also for dtypes of ml_dtypes, for which NumPy raises."""
    if getattr(dtype, "isbuiltin", 1) != 2:
        return np.isdtype(dtype, kind)
    return any(
        category in ("real floating", "numeric") or category == dtype
        for category in (kind if isinstance(kind, tuple) else (kind,))
    )


def finfo(dtype: Any) -> Any:
    """Like `numpy.finfo`, but also for dtypes of ml_dtypes, for which NumPy raises."""
    if getattr(dtype, "isbuiltin", 1) != 2:
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


class _Writable:
    """An object whose `__array_interface__` exposes the memory of an array as writable."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array  # keeps the memory alive
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def from_dlpack(x: Any, /, **options: Any) -> np.ndarray:
    """Like `numpy.from_dlpack`, but the result is writable; NumPy's is read-only for version 0 of the protocol."""
    array = np.from_dlpack(x, **options)
    return array if array.flags.writeable else np.asarray(_Writable(array))


def astype(x: np.ndarray, dtype: Any, /, *, copy: bool = True) -> np.ndarray:
    """Like `numpy.astype`, but attributes its overflow warnings to this module, whose warnings are ignored."""
    return x.astype(dtype, copy=copy)


def count_nonzero(x: np.ndarray, /, **options: Any) -> np.ndarray:
    """Like `numpy.count_nonzero`, which returns an `int` for all axes in NumPy 2.2."""
    return np.asarray(np.count_nonzero(x, **options))


namespace = ModuleType("numpy", np.__doc__)
namespace.__dict__.update(vars(np))
namespace.__dict__.update(
    isdtype=isdtype,
    finfo=finfo,
    from_dlpack=from_dlpack,
    astype=astype,
    count_nonzero=count_nonzero,
    __getattr__=lambda name: getattr(np, name),
)
