"""The NumPy backend, for the CPU."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from flambeau.backend import MutableBackend, RecordableBackend, contiguous_strides, hookimpl
from flambeau.engine.values import dtypes
from flambeau.engine.values.dlpack import Capsule, ElementType

from . import (  # noqa: F401
    kernels,
    kernels_activation,
    kernels_attention,
    kernels_conv,
    kernels_cumulative,
    kernels_division,
    kernels_fourier,
    kernels_gamma,
    kernels_index,
    kernels_linalg,
    kernels_logarithms,
    kernels_nn,
    kernels_norm,
    kernels_normal,
    kernels_optim,
    kernels_order,
    kernels_padding,
    kernels_pointwise,
    kernels_pool,
    kernels_rectifiers,
    kernels_recurrent,
    kernels_reduce,
    kernels_resample,
    kernels_softmax,
    kernels_sparse,
    kernels_special,
    quantized_products,
    rows,
    sums,
    threads,
)
from .chunks import CHUNK, map_chunks
from .error_state import without_warnings, without_warnings_in_place
from .float8 import converted, is_complex32, is_float8, missing_dtypes, raw_dtypes
from .half_products import HALF_PRODUCTS
from .halves import cast, half_kernels
from .indices import INDEX_DTYPE
from .layout import in_order_of
from .memory import (
    allocation,
    as_dtype,
    as_strided,
    is_all_of_unshared,
    is_shared,
    is_unaliased,
    keep_freed_memory,
    memory_owner,
    whole_memory,
    window,
)
from .namespace import namespace
from .specialization import specialize

__all__ = ["NumpyBackend", "without_new_axes"]

_HALF, _DOUBLE = np.dtype(np.float16), np.dtype(np.float64)
_add_to = without_warnings_in_place(np.add)
_SMALL_SIZE = 1 << 10  # number of elements up to which call overhead outweighs computation


def without_new_axes(shape: Sequence[int], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Return strides as PyTorch reports them: NumPy's 0 for a dimension of length 1 becomes the contiguous stride."""
    result, extent = [], 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        result.append(extent if n == 1 and not stride else stride)
        extent = n * result[-1]
    return tuple(reversed(result))


class NumpyBackend(RecordableBackend, MutableBackend):
    """Backend for the CPU: arrays are `numpy.ndarray`; `xp` is NumPy's namespace, which follows the array API standard."""

    name = "numpy"
    device_type = "cpu"
    xp = namespace
    array_type = np.ndarray
    scalar_types = (np.generic,)
    complete = True
    index_dtype = INDEX_DTYPE
    inplace_kernels = kernels.INPLACE
    checks_indices = frozenset({"gather_along"})
    specialize_kernel = staticmethod(specialize)
    wrap_program = staticmethod(without_warnings)

    arithmetic_errors = (FloatingPointError, RuntimeWarning)

    def __init__(self) -> None:
        keep_freed_memory()

    def ignoring_arithmetic_errors(self) -> AbstractContextManager[Any]:
        return np.errstate(all="ignore")

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        return kernels.KERNELS

    @cached_property
    def half_kernels(self) -> Mapping[str, Callable[..., Any]]:
        return half_kernels(self.all_kernels, HALF_PRODUCTS)

    @cached_property
    def dtypes(self) -> Mapping[dtypes.dtype, Any]:
        return raw_dtypes()

    @cached_property
    def missing_dtypes(self) -> Mapping[dtypes.dtype, str]:
        return missing_dtypes()

    def device_count(self) -> int:
        from flambeau.engine.devices.devices import CPU_DEVICES

        return CPU_DEVICES

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        if is_float8(raw_dtype) and getattr(data, "dtype", None) != raw_dtype:
            return converted(np.asarray(data), raw_dtype)
        if raw_dtype is _HALF and (array := np.asarray(data)).dtype is _DOUBLE:
            return self.astype(array, raw_dtype)
        try:
            return np.array(data, dtype=raw_dtype, copy=copy)
        except self.arithmetic_errors:
            return self.compute(np.array, data, dtype=raw_dtype, copy=copy)

    def frombuffer(self, buffer: Any, raw_dtype: Any, count: int, offset: int) -> Any:
        return np.frombuffer(buffer, raw_dtype, count, offset)

    wrap = staticmethod(np.asarray)

    def to_host(self, array: Any) -> Any:
        return array

    def tolist(self, array: Any) -> Any:
        if array.dtype.isbuiltin != 1:
            array = array.astype(np.complex64 if is_complex32(array.dtype) else np.float32)
        return array.tolist()

    def item(self, array: Any) -> Any:
        return self.tolist(array.reshape(()))

    def extremes(self, array: Any) -> tuple[Any, Any]:
        if array.size > CHUNK and array.dtype.kind in "iu" and array.flags.c_contiguous:
            flat = array.reshape(-1)
            found = map_chunks(lambda chunk: (flat[chunk].min().item(), flat[chunk].max().item()), len(flat))
            return min(low for low, _ in found), max(high for _, high in found)
        if array.size > _SMALL_SIZE or array.dtype.kind == "V":
            return array.min().item(), array.max().item()
        return array.item(array.argmin()), array.item(array.argmax())  # faster than `min` and `max`, which call Python code

    def astype(self, array: Any, raw_dtype: Any) -> Any:
        if 0 in array.strides:
            array = kernels.clone(array)  # order="K" does not keep the order of expanded dimensions
        if is_complex32(array.dtype) and array.dtype != raw_dtype:
            array = array.astype(np.complex64)
        if array.dtype.kind == "c" and raw_dtype.kind not in "cb" and not is_complex32(raw_dtype):
            array = array.real
        if is_float8(raw_dtype):
            return converted(array.real, raw_dtype)
        if array.dtype.kind == "f" and raw_dtype.kind in "iu":
            return _cast(array, raw_dtype)
        if raw_dtype is _HALF and array.dtype is _DOUBLE:  # rounded twice (float64 -> float32 -> float16), as PyTorch does
            array = self.astype(array, np.dtype(np.float32))
        try:
            return cast(array, raw_dtype)
        except self.arithmetic_errors:
            return _cast(array, raw_dtype)

    def reinterpret(self, array: Any, wanted: dtypes.dtype) -> Any:
        return array.view(self.dtypes[wanted])

    def copy(self, array: Any) -> Any:
        return array.copy(order="C" if 0 in array.strides else "K")  # "K" would reverse the order of expanded dimensions

    def is_own(self, array: Any) -> bool:
        if sys.getrefcount(array) > _UNSHARED or not array.flags.writeable:
            return False
        return array.base is None or is_all_of_unshared(array)

    def in_order_of(self, array: Any, like: Any) -> Any:
        if array.strides == like.strides or (array.flags.c_contiguous and like.flags.c_contiguous):
            return array
        result = np.empty_like(like, array.dtype, order="K")
        result[...] = array
        return result

    def in_order_of_first(self, array: Any, first: Any) -> Any:
        # NumPy returns a row-major array if the operands have different orders.
        if first.ndim != array.ndim or first.flags.c_contiguous or not array.flags.c_contiguous or first.shape != array.shape:
            return array
        return array if 0 in first.strides else in_order_of(first, array)

    def write(self, target: Any, value: Any) -> None:
        kernels.make_writable(target)[...] = value

    def add_to(self, target: Any, value: Any) -> None:
        if target.itemsize == 2 and target.dtype.kind in "fV":
            target[...] = self.half_kernels["add"](target, value)
        else:
            _add_to(target, value)

    # --- memory ---

    def strides(self, array: Any) -> tuple[int, ...]:
        itemsize = array.itemsize
        strides = tuple([stride // itemsize for stride in array.strides])
        if 0 not in strides:
            return strides
        return contiguous_strides(array.shape) if 0 in array.shape else without_new_axes(array.shape, strides)

    def is_contiguous(self, array: Any) -> bool:
        return array.flags.c_contiguous

    def data_ptr(self, array: Any) -> int:
        return array.ctypes.data

    def root(self, array: Any) -> tuple[Any, int]:
        if array.base is None:
            return whole_memory(array), 0
        flat = as_dtype(whole_memory(array), array.dtype)
        return flat, (array.ctypes.data - flat.ctypes.data) // array.itemsize

    def memory(self, array: Any) -> Any:
        return whole_memory(array).view(np.uint8)

    window = staticmethod(window)
    memory_owner = staticmethod(memory_owner)
    allocation = staticmethod(allocation)
    is_unaliased = staticmethod(is_unaliased)

    def as_strided(self, flat: Any, size: Sequence[int], stride: Sequence[int], offset: int) -> Any:
        if tuple(stride) == contiguous_strides(size):
            return flat[offset : offset + prod(size)].reshape(size)
        strides = [s * flat.itemsize for s in stride]
        return as_strided(flat[offset:], tuple(size), strides)

    def by_columns(self, array: Any) -> Any:
        return np.ascontiguousarray(array.mT).mT

    def shares_memory(self, array: Any, other: Any) -> bool:
        return bool(np.may_share_memory(array, other))

    is_shared = staticmethod(is_shared)

    def share(self, array: Any) -> Any:
        from flambeau.multiprocessing.shared import SharedBlock  # memory that can be passed to another process

        shared = np.asarray(SharedBlock.create(array.nbytes))[: array.nbytes].view(array.dtype)
        shared[...] = array
        return shared

    # --- random numbers ---

    def generator(self, index: int) -> Any:
        from .random import Generator

        _ = self.all_kernels  # load kernel packs first, because one may replace the sampler
        return Generator()

    # --- threads ---

    def get_num_threads(self) -> int:
        return threads.get_num_threads()

    def set_num_threads(self, count: int) -> None:
        threads.set_num_threads(count)

    def to_dlpack(self, array: Any, **kwargs: Any) -> Any:
        if array.dtype.name != "bfloat16":
            return array.__dlpack__(**kwargs)
        capsule = array.view(np.int16).__dlpack__(**kwargs)
        Capsule(capsule).relabel(ElementType.INT16, ElementType.BFLOAT16)
        return capsule

    def report(self) -> str:
        return f"numpy {np.__version__}"


@without_warnings
def _cast(array: Any, raw_dtype: Any) -> Any:
    return array.astype(raw_dtype)


def _count_references(array: Any) -> int:
    return sys.getrefcount(array)


class _Probe:
    def measure(self) -> int:
        array = np.empty(1)
        return _count_references(array)


_UNSHARED = _Probe().measure()  # reference count of an array that only one local variable refers to

# Like PyTorch, do not warn about infinities and NaN in flambeau. NumPy still warns about the user's own arrays.
warnings.filterwarnings("ignore", category=RuntimeWarning, module="flambeau")
_backend = NumpyBackend()


@hookimpl
def flambeau_backend(name: str) -> NumpyBackend | None:
    return _backend if name == "numpy" else None


@hookimpl(trylast=True)  # a kernel pack may have a planner
def flambeau_inference(backend: Any) -> Any:
    if backend is not _backend:
        return None
    from .inference import Planner

    return Planner()


@hookimpl
def flambeau_collectives(device_type: str) -> Any:
    if device_type != "cpu":
        return None
    from ..parallel import collectives

    return collectives("cpu")
