"""Kernels that call Dask's functions, or NumPy's on each chunk, where that is simpler or faster than the forward."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import dask
import dask.array
import numpy

from flambeau.extension import Kernels, forward_of

__all__ = ["KERNELS"]

KERNELS = kernel = Kernels()


def _on_each_chunk(name: str, *operands: Any) -> Any:
    """Compute an elementwise operation chunk by chunk, with flambeau's implementation for NumPy."""
    operands = tuple(operand if isinstance(operand, int) else dask.array.asarray(operand) for operand in operands)
    dtype = next(operand.dtype for operand in operands if isinstance(operand, dask.array.Array))
    return dask.array.core.elemwise(partial(forward_of(name), numpy), *operands, dtype=dtype)


def _error_function(block: Any) -> Any:
    return numpy.vectorize(math.erf, otypes=[block.dtype])(block) if block.size else block


@kernel
def erf(input: Any) -> Any:
    return input.map_blocks(_error_function, dtype=input.dtype)


# These sum hundreds of terms: as Dask operations, each term would add graph entries for every chunk.
for _name in ("digamma", "erfinv", "igamma", "igammac", "lgamma", "polygamma_of", "special_ndtri", "special_zeta"):
    KERNELS[_name] = partial(_on_each_chunk, _name)


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    return _assigned(input.copy(), value, index)


@kernel
def getitem_backward(input: Any, shape: Any, index: Any) -> Any:
    return _assigned(dask.array.zeros(tuple(shape), dtype=input.dtype), input, index)


def _assigned(target: Any, value: Any, index: Any) -> Any:
    """Assign `value` at `index` in place; if Dask does not support the index, return a copy in a single chunk."""
    try:
        target[index] = value
    except NotImplementedError:
        whole = dask.delayed(_put)(target, value, index)
        return dask.array.from_delayed(whole, target.shape, target.dtype)
    return target


def _put(target: Any, value: Any, index: Any) -> Any:
    result = numpy.array(target)
    result[index] = value
    return result
