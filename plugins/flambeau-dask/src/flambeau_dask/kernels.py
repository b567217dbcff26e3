"""Kernels where Dask's own functions, or NumPy's on each chunk, are the shorter way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dask.array
import numpy

__all__ = ["KERNELS"]

KERNELS: dict[str, Callable[..., Any]] = {}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function as the kernel of the operation it is named after."""
    KERNELS[function.__name__] = function
    return function


def _error_function(block: Any) -> Any:
    return numpy.vectorize(math.erf, otypes=[block.dtype])(block) if block.size else block


@kernel
def erf(input: Any) -> Any:
    return input.map_blocks(_error_function, dtype=input.dtype)


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    result = input.copy()
    result[index] = value
    return result


@kernel
def getitem_backward(input: Any, shape: Any, index: Any) -> Any:
    result = dask.array.zeros(tuple(shape), dtype=input.dtype)
    result[index] = input
    return result
