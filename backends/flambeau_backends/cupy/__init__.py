"""The CuPy backend, for CUDA devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import cupy
import numpy as np

from flambeau.backend import AcceleratorBackend, MutableBackend, RecordableBackend, contiguous_strides, hookimpl
from flambeau.engine.values import dtypes

from ..numpy.float8 import raw_dtypes
from . import attention, convolution, kernels, matrix, movement, normalization, optimizers
from .device import Devices, on_device
from .loops import Loops
from .memory import Memory
from .namespace import xp
from .transfer import Transfers

__all__ = ["CupyBackend"]

_KERNEL_MODULES = (attention, convolution, matrix, movement, normalization, optimizers)  # importing them registers their kernels


class CupyBackend(Devices, Transfers, Memory, AcceleratorBackend, RecordableBackend, MutableBackend):
    """Backend for CUDA devices: arrays are `cupy.ndarray`; `xp` is array-api-compat's namespace for CuPy.

    Work runs on the calling thread's current device and stream; kernels are bound to their arrays' device.
    """

    name = "cupy"
    device_type = "cuda"
    xp = xp
    asynchronous = True
    array_type = cupy.ndarray
    complete = True
    inplace_kernels = kernels.INPLACE
    takes_half = frozenset({"mm", "bmm", "addmm", "linear", *convolution.__all__})

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        return kernels.KERNELS

    @cached_property
    def dtypes(self) -> Mapping[dtypes.dtype, Any]:
        return {d: raw for d, raw in raw_dtypes().items() if d not in dtypes.FLOAT8}  # CuPy supports ml_dtypes' bfloat16

    @cached_property
    def fusion(self) -> Any:
        return super().fusion or Loops()

    def namespace_on(self, index: int | None) -> Any:
        return self.xp if self.device_count() < 2 else _NamespaceOnDevice(self.xp, index or 0)

    # --- arrays ---

    wrap = staticmethod(cupy.asarray)

    def tolist(self, array: Any) -> Any:
        host = self.to_host(array)
        return (host.astype(np.float32) if host.dtype.kind == "V" else host).tolist()

    def item(self, array: Any) -> Any:
        return self.tolist(array.reshape(()))

    def extremes(self, array: Any) -> tuple[Any, Any]:
        self.waits()
        with array.device:
            return array.min().item(), array.max().item()

    def equal(self, array: Any, other: Any) -> bool:
        with array.device:
            return super().equal(array, other)

    def astype(self, array: Any, raw_dtype: Any) -> Any:
        with array.device:
            return (array.real if array.dtype.kind == "c" and raw_dtype.kind not in "cb" else array).astype(raw_dtype)

    def reinterpret(self, array: Any, wanted: dtypes.dtype) -> Any:
        return array.view(self.dtypes[wanted])

    def copy(self, array: Any) -> Any:
        with array.device:
            return array.copy(order="K")

    def write(self, target: Any, value: Any) -> None:
        if kernels.is_expanded(target):
            raise ValueError("elements share memory")
        with target.device:
            target[...] = value

    def add_to(self, target: Any, value: Any) -> None:
        with target.device:
            target += value

    # --- memory ---

    def strides(self, array: Any) -> tuple[int, ...]:
        if 0 in array.shape:
            return contiguous_strides(array.shape)
        return tuple(stride // array.itemsize for stride in array.strides)

    def is_contiguous(self, array: Any) -> bool:
        return bool(array.flags.c_contiguous)

    def data_ptr(self, array: Any) -> int:
        return int(array.data.ptr)

    def root(self, array: Any) -> tuple[Any, int]:
        base = array if array.base is None else array.base
        flat = cupy.ndarray((base.size,), base.dtype, memptr=base.data)
        flat = flat if base.dtype == array.dtype else flat.view(array.dtype)
        return flat, (array.data.ptr - flat.data.ptr) // array.itemsize

    def allocation(self, array: Any) -> Any:
        return array.data.mem

    def window(self, array: Any) -> Any:
        return array if array.base is None else cupy.ndarray(array.shape, array.dtype, array.data, array.strides)

    def as_strided(self, flat: Any, size: Sequence[int], stride: Sequence[int], offset: int) -> Any:
        return cupy.lib.stride_tricks.as_strided(flat[offset:], tuple(size), [s * flat.itemsize for s in stride])

    def shares_memory(self, array: Any, other: Any) -> bool:
        return bool(cupy.may_share_memory(array, other))

    def record_stream(self, array: Any, stream: Any) -> None:
        """Make the device's current stream wait for `stream`, since later work on it may reuse the memory once it is freed."""
        with array.device:
            cupy.cuda.get_current_stream().wait_event(stream.raw.record())

    def to_dlpack(self, array: Any, **kwargs: Any) -> Any:
        return array.__dlpack__(**{key: value for key, value in kwargs.items() if value is not None})

    # --- random numbers ---

    def generator(self, index: int) -> Any:
        from .random import Generator

        return Generator(index)

    def report(self) -> str:
        names = [self.properties(index)["name"] for index in range(self.device_count())]
        return f"cupy {cupy.__version__}, {', '.join(names) or 'no CUDA device'}"


class _NamespaceOnDevice:
    """The namespace `xp` with all functions run on one device, so that they create their arrays there."""

    def __init__(self, xp: Any, index: int) -> None:
        self._xp, self._index = xp, index

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._xp, name)
        if callable(attribute) and not isinstance(attribute, type):
            attribute = on_device(self._index, attribute)
        self.__dict__[name] = attribute
        return attribute


_backend = CupyBackend()


@hookimpl
def flambeau_backend(name: str) -> CupyBackend | None:
    return _backend if name == "cupy" else None


@hookimpl
def flambeau_collectives(device_type: str) -> Any:
    if device_type != "cuda":
        return None
    from ..parallel import collectives

    return collectives("cuda")
