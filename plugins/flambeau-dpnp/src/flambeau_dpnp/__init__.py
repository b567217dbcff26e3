"""flambeau on dpnp, Intel's NumPy for SYCL devices: the device type `dpnp`.

dpnp's arrays are mutable and its views share memory.  This plugin is the example of such a library in the documentation: the
section `memory shared by views` implements the methods of `MutableBackend`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import dpnp
import numpy

from flambeau.backend import MutableBackend, hookimpl

from . import namespace
from .kernels import KERNELS

__all__ = ["DpnpBackend"]

# SYCL compiles each kernel at its first call, which is slow; the persistent cache stores compiled kernels for later processes.
os.environ.setdefault("SYCL_CACHE_PERSISTENT", "1")
if os.environ.get("FLAMBEAU_CONFORMANCE") == "quick":
    os.environ.setdefault("SYCL_PROGRAM_COMPILE_OPTIONS", "-cl-opt-disable")


class DpnpBackend(MutableBackend):
    """Backend for dpnp: arrays are `dpnp.ndarray` on dpctl's default device, which `ONEAPI_DEVICE_SELECTOR` selects."""

    name = "dpnp"
    device_type = "dpnp"
    xp = namespace
    array_type = dpnp.ndarray
    kernels = KERNELS

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        if isinstance(data, dpnp.ndarray):
            return dpnp.asarray(data, dtype=raw_dtype, copy=copy)
        return dpnp.asarray(numpy.ascontiguousarray(data, dtype=raw_dtype).reshape(numpy.shape(data)))

    def to_host(self, array: Any) -> Any:
        return dpnp.asnumpy(array)

    def copy(self, array: Any) -> Any:
        return dpnp.array(array, copy=True, order="C")

    # --- memory shared by views ---

    def strides(self, array: Any) -> tuple[int, ...]:
        return tuple([stride // array.itemsize for stride in array.strides])

    def is_contiguous(self, array: Any) -> bool:
        return bool(array.flags.c_contiguous)

    def data_ptr(self, array: Any) -> int:
        return int(array.get_array()._pointer)

    def root(self, array: Any) -> tuple[Any, int]:
        memory, itemsize = array.get_array().usm_data, array.itemsize
        flat = dpnp.ndarray((memory.nbytes // itemsize,), array.dtype, buffer=memory)
        return flat, (self.data_ptr(array) - self.data_ptr(flat)) // itemsize

    def as_strided(self, flat: Any, size: Sequence[int], stride: Sequence[int], offset: int) -> Any:
        start, steps = flat.get_array()._element_offset + offset, tuple([step * flat.itemsize for step in stride])
        return dpnp.ndarray(tuple(size), flat.dtype, buffer=flat.get_array().usm_data, offset=start, strides=steps)

    def shares_memory(self, array: Any, other: Any) -> bool:
        return bool(array.get_array().usm_data._pointer == other.get_array().usm_data._pointer)

    def reinterpret(self, array: Any, wanted: Any) -> Any:
        raw, old, steps = self.dtypes[wanted], array.itemsize, array.strides  # dpnp's `view` is not used: it drops the offset
        start, *size = array.get_array()._element_offset * old, *array.shape
        if raw.itemsize != old:
            if not size or steps[-1] != old or size[-1] * old % raw.itemsize or start % raw.itemsize:
                raise ValueError(f"the bytes of an array of {array.dtype} do not fit elements of {raw}")
            size[-1], steps = size[-1] * old // raw.itemsize, (*steps[:-1], raw.itemsize)
        return dpnp.ndarray(tuple(size), raw, buffer=array.get_array().usm_data, offset=start // raw.itemsize, strides=steps)

    def synchronize(self, index: int | None = None) -> None:
        dpnp.synchronize_array_data(dpnp.zeros(()))

    def report(self) -> str:
        return f"dpnp {dpnp.__version__} on {dpnp.zeros(()).sycl_device.name}"


_backend = DpnpBackend()


@hookimpl
def flambeau_backend(name: str) -> DpnpBackend | None:
    return _backend if name == "dpnp" else None
