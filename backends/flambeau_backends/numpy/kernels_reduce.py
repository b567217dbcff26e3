"""Reductions by NumPy's ufuncs directly, without the Python code that `np.max` and its like run first; in row-major order."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.operations.reductions import axis_of

from .kernels import KERNELS
from .layout import in_rows

__all__: list[str] = []


def _extreme(name: str, ufunc: np.ufunc) -> None:
    def extreme(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
        return in_rows(ufunc.reduce(input, axis_of(dim, input), None, None, keepdim))

    KERNELS[name] = extreme


def _truth(name: str, ufunc: np.ufunc) -> None:
    def truth(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        holds = input if input.dtype == np.bool else input != 0
        return in_rows(ufunc.reduce(holds, axis_of(dim, input), None, None, keepdim))

    KERNELS[name] = truth


_extreme("amax", np.maximum)
_extreme("amin", np.minimum)
_truth("all", np.logical_and)
_truth("any", np.logical_or)
