"""The array-API namespace of the backend: NumPy's own, made to know bfloat16 as the floating-point dtype that it is."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["namespace"]


def isdtype(dtype: Any, kind: Any) -> bool:
    """`numpy.isdtype`, which refuses dtypes that are not NumPy's."""
    if getattr(dtype, "kind", "") != "V":
        return np.isdtype(dtype, kind)
    return any(each in ("real floating", "numeric") or each == dtype for each in (kind if isinstance(kind, tuple) else (kind,)))


def finfo(dtype: Any) -> Any:
    """`numpy.finfo`, which refuses dtypes that are not NumPy's."""
    if getattr(dtype, "kind", "") != "V":
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


class _Writable:
    """The memory of an array, for one that may write to it."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array  # keeps the memory
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def from_dlpack(x: Any, /, **options: Any) -> np.ndarray:
    """`numpy.from_dlpack`, which takes memory for read-only where the protocol's first version did not say."""
    array = np.from_dlpack(x, **options)
    return array if array.flags.writeable else np.asarray(_Writable(array))


namespace = ModuleType("numpy", np.__doc__)
namespace.__dict__.update(vars(np))
namespace.__dict__.update(isdtype=isdtype, finfo=finfo, from_dlpack=from_dlpack, __getattr__=lambda name: getattr(np, name))
