"""dpnp's namespace, with matrix products that also work for expanded arrays (strides of 0)."""

from __future__ import annotations

from typing import Any

import dpnp

__all__ = ["matmul", "tensordot", "vecdot"]


def __getattr__(name: str) -> Any:
    return getattr(dpnp, name)


def _dense(array: Any) -> Any:
    """Copy arrays with strides of 0, for which dpnp's products raise, or return wrong results in batches."""
    expanded = any(step == 0 and length > 1 for step, length in zip(array.strides, array.shape, strict=True))
    return dpnp.array(array, copy=True, order="C") if expanded else array


def matmul(x1: Any, x2: Any, /) -> Any:
    return dpnp.matmul(_dense(x1), _dense(x2))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return dpnp.tensordot(_dense(x1), _dense(x2), axes=axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return dpnp.vecdot(_dense(x1), _dense(x2), axis=axis)
