"""The backend of device `meta`: arrays with shape, dtype and strides, but without elements.

Operations run their array-API forwards on these arrays (`arrays.py`, `namespace.py`), so their results have the same shapes as on
other devices, at a small cost that does not depend on the size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flambeau.backend import MutableBackend, contiguous_strides, hookimpl
from flambeau.engine.values import dtypes

from ..numpy import NumpyBackend, without_new_axes
from ..numpy.memory import as_strided
from .arrays import NO_DATA, MetaArray, described, like
from .kernels import KERNELS
from .namespace import namespace, ordered_as

__all__ = ["MetaBackend"]


class MetaBackend(MutableBackend):
    """Backend for the device `meta`: arrays are `MetaArray`; `xp` follows the array API standard."""

    name = "meta"
    device_type = "meta"
    xp = namespace
    array_type = MetaArray
    complete = True
    has_data = False
    dtypes = NumpyBackend.dtypes
    missing_dtypes = NumpyBackend.missing_dtypes

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        return KERNELS

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> MetaArray:
        return namespace.asarray(data, dtype=raw_dtype, copy=copy)

    def frombuffer(self, buffer: Any, raw_dtype: Any, count: int, offset: int) -> MetaArray:
        return described((count,), raw_dtype)

    def to_host(self, array: MetaArray) -> Any:
        raise NotImplementedError(NO_DATA)

    def from_host(self, data: Any, index: int = 0) -> MetaArray:
        return ordered_as(np.asarray(data), data.dtype)

    def tolist(self, array: MetaArray) -> Any:
        raise NotImplementedError(NO_DATA)

    def item(self, array: MetaArray) -> Any:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def extremes(self, array: MetaArray) -> tuple[Any, Any]:
        return float("nan"), float("nan")  # the values are unknown, and NaN passes every range check

    def astype(self, array: MetaArray, raw_dtype: Any) -> MetaArray:
        return like(array, np.dtype(raw_dtype))

    def reinterpret(self, array: MetaArray, wanted: dtypes.dtype) -> MetaArray:
        return array.view(array.layout.view(self.dtypes[wanted]))

    def copy(self, array: MetaArray) -> MetaArray:
        return like(array)

    def is_own(self, array: MetaArray) -> bool:
        return False

    def in_order_of(self, array: MetaArray, like_: MetaArray) -> MetaArray:
        return like(like_, array.dtype)

    def in_order_of_first(self, array: MetaArray, first: MetaArray) -> MetaArray:
        return like(first, array.dtype) if first.shape == array.shape and 0 not in first.strides else array

    def write(self, target: MetaArray, value: Any) -> None:
        target[...] = value

    add_to = write

    # --- memory ---

    def strides(self, array: MetaArray) -> tuple[int, ...]:
        strides = array.strides
        if 0 not in strides:
            return strides
        return contiguous_strides(array.shape) if 0 in array.shape else without_new_axes(array.shape, strides)

    def is_contiguous(self, array: MetaArray) -> bool:
        return array.layout.flags.c_contiguous

    def data_ptr(self, array: MetaArray) -> int:
        return 0

    def root(self, array: MetaArray) -> tuple[MetaArray, int]:
        return array.view(array.memory.flat(array.dtype)), array.offset

    def memory(self, array: MetaArray) -> MetaArray:
        return array.view(array.memory.flat(np.dtype(np.uint8)))

    def as_strided(self, flat: MetaArray, size: Sequence[int], stride: Sequence[int], offset: int) -> MetaArray:
        start = flat.layout[offset:]
        return flat.view(as_strided(start, tuple(size), [step * start.itemsize for step in stride]))

    def by_columns(self, array: MetaArray) -> MetaArray:
        if 0 in array.shape:  # new arrays of NumPy have no order if they are empty
            return described(array.shape, array.dtype)
        return described(array.mT.shape, array.dtype).mT

    def shares_memory(self, array: MetaArray, other: MetaArray) -> bool:
        return array.memory is other.memory

    def generator(self, index: int) -> Any:
        from .random import Generator

        return Generator()

    def to_dlpack(self, array: MetaArray, **kwargs: Any) -> Any:
        raise BufferError("Cannot pack tensors on meta")

    def report(self) -> str:
        return "meta: shapes without memory"


_backend = MetaBackend()


@hookimpl
def flambeau_backend(name: str) -> MetaBackend | None:
    return _backend if name == "meta" else None
