"""flambeau on a library with mutable arrays and views that share memory.  This template uses NumPy as an example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import array_api_compat.numpy as mymutable
import numpy
from numpy.lib.stride_tricks import as_strided

from flambeau.backend import Backend, MutableBackend, hookimpl

__all__ = ["MyMutableBackend"]


class MyMutableBackend(MutableBackend):
    name = device_type = "mymutable"
    xp = mymutable
    array_type = numpy.ndarray

    def copy(self, array: Any) -> Any:
        return numpy.array(array, order="C")

    def strides(self, array: Any) -> tuple[int, ...]:
        return tuple([step // array.itemsize for step in array.strides])  # flambeau counts elements, NumPy bytes

    def data_ptr(self, array: Any) -> int:
        return array.ctypes.data

    def root(self, array: Any) -> tuple[Any, int]:
        owner = array
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        memory = as_strided(owner, (owner.size,), (owner.itemsize,)).view(array.dtype)
        return memory, (array.ctypes.data - memory.ctypes.data) // array.itemsize

    def as_strided(self, flat: Any, size: Sequence[int], stride: Sequence[int], offset: int) -> Any:
        return as_strided(flat[offset:], tuple(size), [step * flat.itemsize for step in stride])

    def shares_memory(self, array: Any, other: Any) -> bool:
        return numpy.may_share_memory(array, other)

    def reinterpret(self, array: Any, wanted: Any) -> Any:
        return array.view(self.dtypes[wanted])


_backend = MyMutableBackend()


@hookimpl
def flambeau_backend(name: str) -> Backend | None:
    return _backend if name == "mymutable" else None
