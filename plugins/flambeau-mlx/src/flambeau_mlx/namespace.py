"""MLX's namespace, with the array API's signatures for functions whose signatures differ."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy

__all__ = ["argsort", "asarray", "astype", "matmul", "sort"]


def __getattr__(name: str) -> Any:
    """Return MLX's attribute, except `linalg`, which supports only some dtypes and only CPUs."""
    if name == "linalg":
        raise AttributeError(name)
    return getattr(mx, name)


def asarray(data: Any, /, *, dtype: Any = None, copy: bool | None = None) -> Any:
    return mx.array(data, dtype=dtype)


def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    return x.astype(dtype)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if descending:
        # Sort the flipped array, so that equal elements keep their order.
        last = x.shape[axis] - 1
        return mx.array(last) - mx.flip(mx.argsort(mx.flip(x, axis), axis=axis), axis)
    return mx.argsort(x, axis=axis)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    found = mx.sort(x, axis=axis)
    return mx.flip(found, axis) if descending else found


def matmul(x1: Any, x2: Any, /) -> Any:
    if mx.issubdtype(x1.dtype, mx.inexact):
        return mx.matmul(x1, x2)
    return mx.array(numpy.matmul(numpy.asarray(x1), numpy.asarray(x2)))  # MLX has no integer matrix products
