"""Creation functions of the array API: from shapes, ranges, data, and other libraries' arrays."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..engine.values.dtypes import dtype

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid", "ones",
    "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

Shape = int | tuple[int, ...]


def asarray(obj: Any, /, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor made from a scalar, nested sequences, a buffer or another array; a tensor keeps its autograd history."""
    if isinstance(obj, Tensor) and copy is not False:
        return obj.to(dtype=dtype, device=device, copy=bool(copy))
    return torch.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Convert another library's array to a tensor that shares its memory where possible."""
    return torch.from_dlpack(x, device=device, copy=copy)


def _wrap_shape_function(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def create(shape: Shape, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
        return function((shape,) if isinstance(shape, int) else tuple(shape), dtype=dtype, device=device)

    return _copy_name_and_doc(create, function)


def _wrap_like_function(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def create(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
        return function(x, dtype=dtype, device=device)

    return _copy_name_and_doc(create, function)


def _copy_name_and_doc(wrapper: Any, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    wrapper.__name__ = wrapper.__qualname__ = function.__name__
    wrapper.__doc__ = function.__doc__
    return wrapper  # type: ignore[no-any-return]


empty: Callable[..., Tensor] = _wrap_shape_function(torch.empty)
ones: Callable[..., Tensor] = _wrap_shape_function(torch.ones)
zeros: Callable[..., Tensor] = _wrap_shape_function(torch.zeros)
empty_like: Callable[..., Tensor] = _wrap_like_function(torch.empty_like)
ones_like: Callable[..., Tensor] = _wrap_like_function(torch.ones_like)
zeros_like: Callable[..., Tensor] = _wrap_like_function(torch.zeros_like)


def full(shape: Shape, fill_value: complex, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Return an array filled with `fill_value`; without `dtype`, it has the dtype of the value."""
    return torch.full((shape,) if isinstance(shape, int) else tuple(shape), fill_value, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: complex, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Return an array with the shape of `x`, filled with `fill_value`."""
    return torch.full_like(x, fill_value, dtype=dtype, device=device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    """Return `start`, `start + step`, ... up to but excluding `stop`; an empty array if `step` leads away from `stop`."""
    if stop is None:
        start, stop = 0, start
    if ceil((stop - start) / step) <= 0:
        whole = all(isinstance(value, int) for value in (start, stop, step))
        return torch.empty((0,), dtype=dtype or (torch.int64 if whole else None), device=device)
    return torch.arange(start, stop, step, dtype=dtype, device=device)


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: dtype | None = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """Return `num` evenly spaced values from `start` to `stop`; `stop` is excluded if `endpoint` is False."""
    if endpoint:
        return torch.linspace(start, stop, num, dtype=dtype, device=device)
    return torch.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Return an `(n_rows, n_cols)` array with ones on the `k`-th diagonal and zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    rows = torch.arange(n_rows, device=device)[:, None]
    columns = torch.arange(n_cols, device=device)
    return (columns - rows == max(-n_rows, min(k, n_cols))).to(dtype or torch.get_default_dtype())


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the matrices with the elements above the `k`-th diagonal set to zero."""
    return torch.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the matrices with the elements below the `k`-th diagonal set to zero."""
    return torch.triu(x, k)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Return the coordinate arrays of a grid, given the coordinates along each axis."""
    if len(arrays) < 2:  # "xy" swaps the first two axes, so it requires two arrays
        indexing = "ij"
    return tuple(torch.meshgrid(*arrays, indexing=indexing)) if arrays else ()
