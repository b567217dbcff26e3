"""The array API namespace for meta arrays: functions return the shape, dtype and strides of NumPy's results.

Elementwise functions are generated from NumPy's ufuncs, which report their result dtypes.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from flambeau.engine.values.symbols import BINARY, COMPARISONS, UNARY

from ..numpy.namespace import finfo, isdtype
from . import linalg, transforms
from .arrays import MetaArray, described, like, ordered
from .linalg import matmul, tensordot, vecdot  # noqa: F401 (they belong to the namespace)

__all__ = ["namespace"]

_NEVER = "the shape of the result depends on data, which meta tensors do not have"


def _dtype_of(operand: Any) -> Any:
    return operand.dtype if hasattr(operand, "dtype") else np.dtype(bool) if type(operand) is bool else type(operand)


def _elementwise(ufunc: np.ufunc) -> Callable[..., Any]:
    def compute(*operands: Any) -> Any:
        resolved = ufunc.resolve_dtypes((*map(_dtype_of, operands), *[None] * ufunc.nout))[ufunc.nin :]
        shape = np.broadcast_shapes(*[getattr(operand, "shape", ()) for operand in operands])
        results = tuple(ordered(shape, dtype, operands) for dtype in resolved)
        return results[0] if len(results) == 1 else results

    return compute


def _probe(array: Any) -> np.ndarray:
    """Return an array with one element, the same dtype and number of dimensions, to determine result dtypes with NumPy."""
    return np.ones((1,) * array.ndim, array.dtype)


# --- creation ---


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> MetaArray:
    if isinstance(obj, MetaArray):
        return astype(obj, dtype or obj.dtype, copy=bool(copy))
    if isinstance(obj, (list, tuple)) and any(isinstance(item, MetaArray) for item in obj):
        return stack([asarray(item, dtype=dtype) for item in obj])
    array = np.asarray(obj)
    return ordered_as(array, dtype or array.dtype)


def ordered_as(array: np.ndarray, dtype: Any) -> MetaArray:
    """Return a MetaArray with the shape and memory order of a NumPy array."""
    if array.flags.c_contiguous or not array.size:
        return described(array.shape, dtype)
    return like(MetaArray(array, None), dtype)  # type: ignore[arg-type]  # `like` does not use the memory


def _shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def empty(shape: int | Sequence[int], *, dtype: Any = None, device: Any = None) -> MetaArray:
    return described(_shape_of(shape), dtype or np.float64)


zeros = ones = empty


def full(shape: int | Sequence[int], fill_value: Any, *, dtype: Any = None, device: Any = None) -> MetaArray:
    return described(_shape_of(shape), dtype or getattr(fill_value, "dtype", None) or np.asarray(fill_value).dtype)


def empty_like(x: MetaArray, /, *, dtype: Any = None, device: Any = None) -> MetaArray:
    return like(x, dtype)


zeros_like = ones_like = empty_like


def full_like(x: MetaArray, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> MetaArray:
    return like(x, dtype)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> MetaArray:
    return described((n_rows, n_rows if n_cols is None else n_cols), dtype or np.float64)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> MetaArray:
    start, stop = (0, start) if stop is None else (start, stop)
    length = max(0, -int((start - stop) // step))
    dtype = dtype or (np.int64 if all(isinstance(value, int) for value in (start, stop, step)) else np.float64)
    return described((length,), dtype)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> MetaArray:
    return described((num,), dtype or np.result_type(_dtype_of(start), _dtype_of(stop), np.float64))


def meshgrid(*arrays: MetaArray, indexing: str = "xy") -> tuple[MetaArray, ...]:
    lengths = [array.size for array in arrays]
    if indexing == "xy":
        lengths[:2] = lengths[1::-1]
    return tuple(described(lengths, array.dtype) for array in arrays)


def tril(x: MetaArray, /, *, k: int = 0) -> MetaArray:
    return like(x)


triu = tril

# --- dtypes ---


def astype(x: MetaArray, dtype: Any, /, *, copy: bool = True, device: Any = None) -> MetaArray:
    return x if not copy and x.dtype == dtype else like(x, np.dtype(dtype))


def result_type(*operands: Any) -> Any:
    return np.result_type(*[np.zeros((), o.dtype) if isinstance(o, MetaArray) else o for o in operands])


def can_cast(from_: Any, to: Any, /) -> bool:
    return np.can_cast(getattr(from_, "dtype", from_), to)


def real(x: MetaArray, /) -> MetaArray:
    return x.view(x.layout.real) if x.dtype.kind == "c" else x


def imag(x: MetaArray, /) -> MetaArray:
    return x.view(x.layout.imag) if x.dtype.kind == "c" else like(x)


# --- elementwise functions for which NumPy has no ufunc ---


def clip(x: MetaArray, /, min: Any = None, max: Any = None) -> MetaArray:
    bounds = [bound for bound in (min, max) if bound is not None]
    dtypes = [bound.dtype for bound in bounds if hasattr(bound, "dtype")]
    shape = np.broadcast_shapes(x.shape, *[getattr(bound, "shape", ()) for bound in bounds])
    return ordered(shape, np.result_type(x.dtype, *dtypes), [x, *bounds])


def where(condition: Any, x1: Any, x2: Any, /) -> MetaArray:
    operands = [condition, x1, x2]
    shape = np.broadcast_shapes(*[getattr(operand, "shape", ()) for operand in operands])
    dtype = np.where(True, *[np.zeros((), x.dtype) if hasattr(x, "dtype") else x for x in (x1, x2)]).dtype
    return ordered(shape, dtype, operands)


def round(x: MetaArray, /, decimals: int = 0) -> MetaArray:
    return like(x)


def nan_to_num(x: MetaArray, /, **_: Any) -> MetaArray:
    return like(x)


def isclose(x1: Any, x2: Any, /, **_: Any) -> MetaArray:
    return ordered(np.broadcast_shapes(x1.shape, getattr(x2, "shape", ())), np.bool_, [x1, x2])


# --- reductions ---


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: MetaArray, /, *, axis: Any = None, keepdims: bool = False, **options: Any) -> MetaArray:
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = {operator.index(a) for a in np.lib.array_utils.normalize_axis_tuple(tuple(axes), x.ndim)}
        probed = function(_probe(x), **({"dtype": options["dtype"]} if options.get("dtype") is not None else {}))
        dtype = np.asarray(probed).dtype  # `count_nonzero` of older NumPy returns an int
        kept = [d for d in range(x.ndim) if d not in axes]
        result = ordered(
            [x.shape[d] for d in kept],
            dtype,
            [x.view(x.layout.transpose([*kept, *axes])[(..., *[0] * len(axes))])] if 0 not in x.shape else [],
        )
        return reshape(result, [1 if d in axes else x.shape[d] for d in range(x.ndim)]) if keepdims else result

    return reduce


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a NumPy function that works along an axis and keeps the shape, such as a cumulative sum."""

    def compute(x: MetaArray, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False, **_: Any) -> Any:
        found = dtype or function(np.ones(1, x.dtype)).dtype
        if not include_initial:
            return like(x, found)
        axis = (axis or 0) % x.ndim
        return described([n + (d == axis) for d, n in enumerate(x.shape)], found)

    return compute


argmax, argmin, count_nonzero, mean, prod, std, var = map(
    _reduced, (np.argmax, np.argmin, np.count_nonzero, np.mean, np.prod, np.std, np.var)
)


def searchsorted(x1: MetaArray, x2: MetaArray, /, *, side: str = "left", sorter: Any = None) -> MetaArray:
    return described(getattr(x2, "shape", ()), np.int64)


def diff(x: MetaArray, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> MetaArray:
    length = x.shape[axis] - n + sum(extra.shape[axis] for extra in (prepend, append) if extra is not None)
    return described([max(length, 0) if d == axis % x.ndim else s for d, s in enumerate(x.shape)], x.dtype)


# --- shapes ---


def reshape(x: MetaArray, /, shape: int | Sequence[int], *, copy: bool | None = None) -> MetaArray:
    shape = list(_shape_of(shape))
    if -1 in shape:
        known = -math.prod(shape)
        shape[shape.index(-1)] = x.size // known if known else 0
    if math.prod(shape) != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {tuple(shape)}")
    try:
        return x.view(np.reshape(x.layout, shape, copy=False))
    except ValueError:
        if copy is False:
            raise
        return described(shape, x.dtype)


def _viewing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a NumPy function that returns a view; it receives the array `layout`, of which it uses only shape and strides."""

    def view(x: MetaArray, /, *args: Any, **kwargs: Any) -> MetaArray:
        return x.view(function(x.layout, *args, **kwargs))

    return view


broadcast_to, matrix_transpose, moveaxis, permute_dims, squeeze = map(
    _viewing, (np.broadcast_to, np.matrix_transpose, np.moveaxis, np.permute_dims, np.squeeze)
)


def broadcast_arrays(*arrays: MetaArray) -> list[MetaArray]:
    shape = np.broadcast_shapes(*[array.shape for array in arrays])
    return [namespace.broadcast_to(array, shape) for array in arrays]


def expand_dims(x: MetaArray, /, *, axis: int | Sequence[int] = 0) -> MetaArray:
    return x.view(np.expand_dims(x.layout, axis if isinstance(axis, int) else tuple(axis)))


def unstack(x: MetaArray, /, *, axis: int = 0) -> tuple[MetaArray, ...]:
    first = namespace.moveaxis(x, axis, 0)
    return tuple(first[n, ...] for n in range(first.shape[0]))


def concat(arrays: Sequence[MetaArray], /, *, axis: int | None = 0) -> MetaArray:
    arrays = list(arrays)
    dtype = np.result_type(*[array.dtype for array in arrays])
    if axis is None:
        return described((builtin_sum(array.size for array in arrays),), dtype)
    np.concatenate([np.empty((0,) * array.ndim) for array in arrays], axis)  # raises for a wrong axis or number of dimensions
    axis %= arrays[0].ndim
    for array in arrays[1:]:
        if any(a != b for d, (a, b) in enumerate(zip(arrays[0].shape, array.shape, strict=True)) if d != axis):
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    length = builtin_sum(array.shape[axis] for array in arrays)
    return described([length if d == axis else n for d, n in enumerate(arrays[0].shape)], dtype)


def stack(arrays: Sequence[MetaArray], /, *, axis: int = 0) -> MetaArray:
    if len({array.shape for array in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    return concat([expand_dims(array, axis=axis) for array in arrays], axis=axis)


def tile(x: MetaArray, repetitions: Sequence[int], /) -> MetaArray:
    missing = len(repetitions) - x.ndim
    shape, times = (1,) * missing + x.shape, (1,) * -missing + tuple(repetitions)
    return described([n * count for n, count in zip(shape, times, strict=True)], x.dtype)


def repeat(x: MetaArray, repeats: Any, /, *, axis: int | None = None) -> MetaArray:
    if not isinstance(repeats, int):
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    if axis is None:
        return described((x.size * repeats,), x.dtype)
    return described([n * repeats if d == axis % x.ndim else n for d, n in enumerate(x.shape)], x.dtype)


def flip(x: MetaArray, /, *_: Any, **__: Any) -> MetaArray:
    """Return a new array of the same shape, as for all functions that only reorder elements."""
    return like(x)


roll = sort = flip


def argsort(x: MetaArray, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> MetaArray:
    return like(x, np.int64)


def take(x: MetaArray, indices: MetaArray, /, *, axis: int | None = None) -> MetaArray:
    axis = (axis or 0) % x.ndim
    return described((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


def take_along_axis(x: MetaArray, indices: MetaArray, /, *, axis: int = -1) -> MetaArray:
    axis %= x.ndim
    others = np.broadcast_shapes(*[(*a.shape[:axis], 1, *a.shape[axis + 1 :]) for a in (x, indices)])
    return described((*others[:axis], indices.shape[axis], *others[axis + 1 :]), x.dtype)


# --- functions whose result shape depends on data ---


def _data_dependent(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{name}: {_NEVER}")

    return refuse


# --- the namespace ------------------------------------------------------------------------------------------------

builtin_sum = sum
_REDUCTIONS = ("all", "any", "max", "min", "sum")  # generated, because definitions here would shadow Python's built-in functions
_OF_UNKNOWN_SHAPE = ("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values")
_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip

namespace = ModuleType("flambeau_backends.meta.namespace", __doc__)
namespace.__dict__.update(
    {name: _elementwise(ufunc) for name, ufunc in vars(np).items() if isinstance(ufunc, np.ufunc)}
    | {name: function for name, function in globals().items() if inspect.isfunction(function) and not name.startswith("_")}
    | {name: getattr(np, name) for name in ("inf", "nan", "pi", "e", "newaxis", "iinfo")}
    | {name: np.dtype(name) for name in _DTYPES}
    | {name: _reduced(getattr(np, name)) for name in _REDUCTIONS}
    | {name: _data_dependent(name) for name in _OF_UNKNOWN_SHAPE}
    | {"cumulative_sum": _along(np.cumsum), "cumulative_prod": _along(np.cumprod), "isdtype": isdtype, "finfo": finfo}
    | {"linalg": linalg.namespace, "fft": transforms.namespace}
    | {"has_data": False}  # forwards check this before reading values
)

# --- operators of arrays ------------------------------------------------------------------------------------------


def _operator(name: str) -> Callable[..., Any]:
    function = getattr(namespace, name)
    return lambda *operands: function(*operands)


def _reflected(name: str) -> Callable[..., Any]:
    function = getattr(namespace, name)
    return lambda self, other: function(other, self)


for _symbol, _name in (BINARY | COMPARISONS | UNARY).items():
    setattr(MetaArray, f"__{_symbol}__", _operator(_name))
for _symbol, _name in BINARY.items():
    setattr(MetaArray, f"__r{_symbol}__", _reflected(_name))
MetaArray.__array_namespace__ = lambda self, api_version=None: namespace  # type: ignore[attr-defined]  # a method
MetaArray.__hash__ = object.__hash__  # type: ignore[method-assign,assignment]  # a class that defines __eq__ loses its hash
