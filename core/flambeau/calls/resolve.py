"""From an operation and a dispatch key to the kernel that serves them, casts included."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import import_module
from typing import Any

from ..backend import Backend
from ..runtime.devices import DispatchKey
from ..runtime.host import kernel_on_host
from ..tape.tensor_class import RECORDED
from ..tensors.tensor import Tensor, wrap
from ..values import dtypes
from ..values.dtypes import dtype
from ..values.promotion import DTYPES, PROMOTIONS
from .record import Operation
from .tables import FORMULAS, FUSED, OPS, PUBLIC

__all__ = ["raw_kernel", "resolve"]


def raw_kernel(name: str, key: DispatchKey) -> Callable[..., Any]:
    """The operation `name` on raw arrays of one dispatch key: what a derivative rule calls as `F.name`."""
    if name in OPS:
        return _on_sequence(OPS[name], key[name][0]) if OPS[name].variadic else key[name][0]
    if name in FORMULAS:
        return key.backend.all_kernels.get(name) or functools.partial(FORMULAS[name], key.F)
    function = PUBLIC[name] if name in PUBLIC else getattr(RECORDED, name)
    return _composite_on_arrays(function, key)


def _on_sequence(record: Operation, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of separate arrays, called with a sequence of them, as the public function is."""
    return lambda arrays, *params: kernel(*arrays, **dict(zip(record.param_names, params, strict=False)))


def _composite_on_arrays(function: Callable[..., Any], key: DispatchKey) -> Callable[..., Any]:
    """A composite as a function of raw arrays."""

    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        tensors = [wrap(each, key) if isinstance(each, key.array_type) else each for each in args]
        result = function(*tensors, **kwargs)
        return result._array if isinstance(result, Tensor) else tuple(each._array for each in result)

    return on_arrays


def resolve(name: str, key: DispatchKey) -> tuple[Callable[..., Any], Any]:
    """The kernel that computes `name` for arguments of `key`, casts included, and the dispatch key of its result."""
    record = OPS[name]
    if key.dtype.category not in DTYPES[record.dtypes]:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{key.dtype.legacy_name}'")
    if record.real_is_identity and key.dtype.category < dtypes.COMPLEX:
        return (lambda array: array), key
    compute, result = PROMOTIONS[record.promote](key.dtype)
    backend = key.backend
    kernel = backend.all_kernels.get(name)
    if kernel is None:
        if record.requires and not _has(backend.xp, record.requires):
            kernel = kernel_on_host(name, key.to(compute))
        else:
            kernel = _kernel_of_forward(record, backend)
    if compute is not key.dtype and name not in backend.takes_half:
        kernel = _casting(kernel, record, key, compute)
    if record.promote == "truth" and result is not dtypes.bool_:
        kernel = _casting_back(kernel, key.to(result), dtypes.bool_)
    elif result in dtypes.HALF:  # no library is sure to stay in half precision where a Python number joins in
        kernel = _casting_back(kernel, key.to(result), dtypes.float32, dtypes.float64)
    elif (
        compute.category >= dtypes.FLOATING
        and compute is not result
        and result.category >= dtypes.FLOATING
        and (record.promote not in ("real", "complex"))
    ):
        kernel = _casting_back(kernel, key.to(result), compute)
    if record.column_major:
        kernel = _laying_by_columns(kernel, backend, [each in record.column_major for each in record.results or ("out",)])
    kernel = backend.bind(kernel, key.device.index or 0)
    keys: Any = key.to(result)
    if record.results:
        promotions = record.result_promotions or ("same",) * len(record.results)
        keys = tuple(key.to(PROMOTIONS[each](result)[1]) for each in promotions)
    return kernel, keys


@cache
def _kernel_of_forward(record: Operation, backend: Backend) -> Callable[..., Any]:
    """One for all dtypes, so that what is computed in another dtype than its own is not compiled again."""
    return backend.compiled(record.name, partial(record.forward, backend.xp))


def _laying_by_columns(kernel: Callable[..., Any], backend: Backend, chosen: list[bool]) -> Callable[..., Any]:
    """Let the results that are `chosen` lie in memory by columns."""
    lay = backend.by_columns
    if len(chosen) == 1:
        return lambda *args: lay(kernel(*args))
    return lambda *args: tuple([lay(each) if it_is else each for each, it_is in zip(kernel(*args), chosen, strict=True)])


def _has(xp: Any, path: str) -> bool:
    """Whether a library has an optional part of the array API."""
    for name in path.split("."):
        xp = getattr(xp, name, None)
    return xp is not None


def _casting(kernel: Callable[..., Any], record: Operation, key: DispatchKey, compute: dtype) -> Callable[..., Any]:
    """Cast the tensor arguments of `key` to the dtype that is computed in."""
    astype, given, raw = key.backend.astype, key.raw_dtype, key.to(compute).raw_dtype
    count = None if record.variadic else len(record.tensor_names)

    def cast(array: Any) -> Any:
        return astype(array, raw) if array is not None and array.dtype == given else array

    def kernel_with_casts(*args: Any, **kwargs: Any) -> Any:
        return kernel(*map(cast, args[:count]), *(args[count:] if count is not None else ()), **kwargs)

    return kernel_with_casts


def _casting_back(kernel: Callable[..., Any], result: DispatchKey, *computed: dtype) -> Callable[..., Any]:
    astype, raw = result.backend.astype, result.raw_dtype
    found = [result.backend.dtypes.get(each) for each in computed]

    def back(array: Any) -> Any:
        return astype(array, raw) if hasattr(array, "dtype") and array.dtype in found else array

    def kernel_with_cast(*args: Any, **kwargs: Any) -> Any:
        made = kernel(*args, **kwargs)
        return tuple(map(back, made)) if isinstance(made, (tuple, list)) else back(made)

    return kernel_with_cast


def _unknown_kernels(names: Iterable[str]) -> list[str]:
    """Of the names of kernels, those that nothing asks for.  Optimizers' steps end in `_step`."""
    if not all(_is_known(name) for name in names):
        for part in ("fft", "linalg", "special"):  # which define operations when they are first used
            import_module(f"flambeau.{part}")
    return [name for name in names if not _is_known(name)]


def _is_known(name: str) -> bool:
    return name in OPS or name in FORMULAS or name in FUSED or name.endswith("_step")


Backend.unknown_kernels = staticmethod(_unknown_kernels)
DispatchKey.resolve, DispatchKey.raw_kernel = staticmethod(resolve), staticmethod(raw_kernel)
