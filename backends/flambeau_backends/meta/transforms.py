"""The array API's `fft` for meta arrays: functions return the shapes and dtypes of transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .arrays import MetaArray, described

__all__ = ["namespace"]


def _complex(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def _over_axes(x: MetaArray, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """Return the input's shape with the lengths `s` along `axes`, and the axes as non-negative numbers."""
    axes = list(range(x.ndim) if axes is None and s is None else range(-len(s or ()), 0) if axes is None else axes)
    shape = list(x.shape)
    for axis, length in zip(axes, s or [shape[axis] for axis in axes], strict=True):
        shape[axis] = length
    return shape, [axis % x.ndim for axis in axes]


def _fftn(x: MetaArray, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> MetaArray:
    return described(_over_axes(x, s, axes)[0], _complex(x.dtype))


def _rfftn(x: MetaArray, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> MetaArray:
    shape, over = _over_axes(x, s, axes)
    shape[over[-1]] = shape[over[-1]] // 2 + 1
    return described(shape, _complex(x.dtype))


def _irfftn(x: MetaArray, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> MetaArray:
    shape, over = _over_axes(x, s, axes)
    if s is None:
        shape[over[-1]] = 2 * (shape[over[-1]] - 1)
    return described(shape, np.zeros((), _complex(x.dtype)).real.dtype)


def _one_dimensional(transform: Callable[..., MetaArray]) -> Callable[..., MetaArray]:
    def compute(x: MetaArray, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> MetaArray:
        return transform(x, s=None if n is None else (n,), axes=(axis,), norm=norm)

    return compute


namespace = ModuleType("flambeau_backends.meta.transforms", __doc__)
namespace.__dict__.update(
    fftn=_fftn, ifftn=_fftn, rfftn=_rfftn, irfftn=_irfftn, fft=_one_dimensional(_fftn),
    ifft=_one_dimensional(_fftn), rfft=_one_dimensional(_rfftn), irfft=_one_dimensional(_irfftn),
)  # fmt: skip
