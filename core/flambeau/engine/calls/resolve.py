"""Looking up the kernel that computes an operation for a dispatch key, with the casts that promotion requires."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import import_module
from typing import Any

from ...backend import Backend, MutableBackend, is_mutable, upper_layers
from ..devices.devices import DispatchKey
from ..devices.host import kernel_on_host, or_on_host
from ..tape.tensor_class import RECORDED
from ..tensors.tensor import Tensor, wrap
from ..values import dtypes
from ..values.dtypes import dtype
from ..values.promotion import DTYPES, PROMOTIONS
from .facts import Kind, Narrow
from .record import Operation
from .tables import FORMULAS, FUSED, OPS, PUBLIC

__all__ = ["is_on_host", "raw_kernel", "resolve"]


_NARROW = {
    dtypes.complex32: Narrow.COMPLEX32,
    **{dtype: Narrow.SIGNED_FLOAT8 if dtype.is_signed else Narrow.UNSIGNED_FLOAT8 for dtype in dtypes.FLOAT8},
}


def raw_kernel(name: str, key: DispatchKey) -> Callable[..., Any]:
    """Return the operation `name` as a function that takes raw arrays of one dispatch key: `F.name` in derivative rules."""
    if name in OPS:
        return _on_sequence(OPS[name], key[name][0]) if OPS[name].variadic else key[name][0]
    if name in FORMULAS:
        return _half_kernel(name, key) or key.backend.all_kernels.get(name) or functools.partial(FORMULAS[name], key.F)
    function = PUBLIC[name] if name in PUBLIC else getattr(RECORDED, name)
    return _composite_on_arrays(function, key)


def _on_sequence(record: Operation, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel that takes arrays as separate arguments in a function that takes a sequence of arrays."""
    return lambda arrays, *params: kernel(*arrays, **dict(zip(record.param_names, params, strict=False)))


def _composite_on_arrays(function: Callable[..., Any], key: DispatchKey) -> Callable[..., Any]:
    """Wrap a composite in a function that takes and returns raw arrays of one dispatch key."""

    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        tensors = [wrap(arg, key) if isinstance(arg, key.array_type) else arg for arg in args]
        result = function(*tensors, **kwargs)
        return result._array if isinstance(result, Tensor) else tuple(tensor._array for tensor in result)

    return on_arrays


def resolve(name: str, key: DispatchKey) -> tuple[Callable[..., Any], Any]:
    """Return the kernel that computes `name` for arguments of `key`, including casts, and the result's dispatch key."""
    record = OPS[name]
    if key.dtype.category not in DTYPES[record.dtypes]:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{key.dtype.legacy_name}'")
    narrow = _NARROW.get(key.dtype)
    if narrow is not None and narrow not in record.facts.narrow:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{key.dtype.legacy_name}'")
    if record.real_is_identity and key.dtype.category < dtypes.COMPLEX:
        return (lambda array: array), key
    compute, result = PROMOTIONS[record.promote](key.dtype)
    backend = key.backend
    half_kernel = _half_kernel(name, key)
    kernel = half_kernel or backend.all_kernels.get(name)
    if kernel is None:
        if is_on_host(record, backend):
            kernel = kernel_on_host(name, key.to(compute))
        else:
            kernel = _kernel_of_forward(record, backend)
            if not backend.complete:
                kernel = or_on_host(name, key.to(compute), kernel)
    if compute is not key.dtype and half_kernel is None and name not in backend.takes_half:
        kernel = _casting(kernel, record, key, compute)
    if record.promote == "truth" and result is not dtypes.bool_:
        kernel = _casting_back(kernel, key.to(result), dtypes.bool_)
    elif result in dtypes.HALF and record.facts.kind is not Kind.VIEW:
        # Some libraries promote half precision with Python numbers.
        kernel = _casting_back(kernel, key.to(result), dtypes.float32, dtypes.float64)
    elif (
        compute.category >= dtypes.FLOATING
        and compute is not result
        and result.category >= dtypes.FLOATING
        and (record.promote not in ("real", "complex"))
    ):
        kernel = _casting_back(kernel, key.to(result), compute)
    if record.column_major and is_mutable(backend):
        kernel = _column_major(
            kernel, backend, [result_name in record.column_major for result_name in record.results or ("out",)]
        )
    keys: Any = key.to(result)
    if record.results:
        promotions = record.result_promotions or ("same",) * len(record.results)
        keys = tuple(key.to(PROMOTIONS[promotion](result)[1]) for promotion in promotions)
    if backend.index_dtype is not dtypes.int64 and dtypes.int64 in backend.dtypes:
        kernel = _casting_indices(kernel, keys, key.to(backend.index_dtype))
    return backend.bind(kernel, key.device.index or 0), keys


def _half_kernel(name: str, key: DispatchKey) -> Callable[..., Any] | None:
    """Return the backend's kernel for float16 / bfloat16 arrays without casts; None if `key` has another dtype."""
    return key.backend.half_kernels.get(name) if key.dtype in dtypes.HALF else None


def is_on_host(record: Operation, backend: Backend) -> bool:
    """Whether the CPU computes an operation because the backend's library lacks the array API function in `requires`."""
    return (
        record.requires is not None and record.name not in backend.all_kernels and not _has_function(backend.xp, record.requires)
    )


@cache
def _kernel_of_forward(record: Operation, backend: Backend) -> Callable[..., Any]:
    """Return the kernel compiled from the forward. It is cached for all dtypes, so that casts cause no further compilation."""
    return backend.compile_forward(record.name, partial(record.forward, backend.forward_xp))


def _column_major(kernel: Callable[..., Any], backend: MutableBackend, is_column_major: list[bool]) -> Callable[..., Any]:
    """Wrap a kernel to convert its results to column-major order; `is_column_major` has a bool for each result."""
    by_columns = backend.by_columns
    if len(is_column_major) == 1:
        return lambda *args: by_columns(kernel(*args))
    return lambda *args: tuple(
        [by_columns(array) if as_columns else array for array, as_columns in zip(kernel(*args), is_column_major, strict=True)]
    )


def _has_function(xp: Any, path: str) -> bool:
    """Whether a library has an optional array API function, such as `linalg.svd`."""
    for name in path.split("."):
        xp = getattr(xp, name, None)
    return xp is not None


def _casting(kernel: Callable[..., Any], record: Operation, key: DispatchKey, compute: dtype) -> Callable[..., Any]:
    """Wrap a kernel to cast its array arguments from the dtype of `key` to `compute`."""
    astype, from_dtype, to_dtype = key.backend.astype, key.raw_dtype, key.to(compute).raw_dtype
    count = None if record.variadic else len(record.tensor_names)

    def cast(array: Any) -> Any:
        return astype(array, to_dtype) if array is not None and array.dtype == from_dtype else array

    def kernel_with_casts(*args: Any, **kwargs: Any) -> Any:
        return kernel(*map(cast, args[:count]), *(args[count:] if count is not None else ()), **kwargs)

    return kernel_with_casts


def _casting_back(kernel: Callable[..., Any], result: DispatchKey, *computed: dtype) -> Callable[..., Any]:
    """Wrap a kernel to cast its results from the dtypes `computed` to the dtype of `result`."""
    astype, to_dtype = result.backend.astype, result.raw_dtype
    raw_dtypes = result.backend.dtypes
    # Some libraries cannot compare a dtype with None, so dtypes that the library lacks are left out.
    from_dtypes = [raw_dtypes[dtype] for dtype in computed if dtype in raw_dtypes]

    def cast(array: Any) -> Any:
        return astype(array, to_dtype) if hasattr(array, "dtype") and array.dtype in from_dtypes else array

    def kernel_with_cast(*args: Any, **kwargs: Any) -> Any:
        result_arrays = kernel(*args, **kwargs)
        if getattr(result_arrays, "dtype", None) is to_dtype:  # the most frequent case
            return result_arrays
        return tuple(map(cast, result_arrays)) if isinstance(result_arrays, (tuple, list)) else cast(result_arrays)

    return kernel_with_cast


def _casting_indices(kernel: Callable[..., Any], keys: Any, index_key: DispatchKey) -> Callable[..., Any]:
    """Wrap a kernel to cast those results to int64 that are int64 according to `keys`, but indices of another dtype."""
    if isinstance(keys, tuple):
        kernels = [_casting_indices(lambda array: array, key, index_key) for key in keys]
        return lambda *args, **kwargs: tuple([cast(array) for cast, array in zip(kernels, kernel(*args, **kwargs), strict=True)])
    return _casting_back(kernel, keys, index_key.dtype) if keys.dtype is dtypes.int64 else kernel


# Importing these modules defines further operations.
_DEFINE_OPERATIONS = ("operations.quantized_products", "linalg", "special", "fft", "layouts.sparse")


def _unknown_kernels(names: Iterable[str]) -> list[str]:
    """Return the kernel names that flambeau does not know, and so never looks up.  Names of optimizer kernels end in `_step`."""
    unknown = [name for name in names if not _is_known(name)]
    for part in _DEFINE_OPERATIONS:
        if unknown:
            import_module(f"flambeau.{part}")
            unknown = [name for name in unknown if not _is_known(name)]
    return unknown


def _is_known(name: str) -> bool:
    return name in OPS or name in FORMULAS or name in FUSED or name.endswith("_step")


upper_layers.unknown_kernels = _unknown_kernels
DispatchKey.resolve, DispatchKey.raw_kernel = staticmethod(resolve), staticmethod(raw_kernel)
