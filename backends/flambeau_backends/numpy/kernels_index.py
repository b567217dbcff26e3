"""Selecting, joining and spreading: what NumPy's own functions do with more ado than small arrays are worth."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from flambeau.calls.op import OPS

from .kernels import KERNELS, kernel, summing
from .namespace import namespace

__all__: list[str] = []

_SMALL = 1 << 12  # positions that are worth remembering


# --- views --------------------------------------------------------------------------------------------------------


@kernel
def unsqueeze(input: Any, dim: int) -> Any:
    return input[(slice(None),) * dim + (None,)]


@kernel
def expand(input: Any, shape: tuple[int, ...]) -> Any:
    """`broadcast_to`, without its cost where the memory is contiguous."""
    if prod(shape) == input.size:  # no element is repeated: the view may be written to
        return input.reshape(shape)
    given = input.shape
    if given and not input.flags.c_contiguous:
        return np.broadcast_to(input, shape)
    kept = [0 if n == 1 else step for n, step in zip(given, input.strides, strict=True)] if given else ()
    made = np.ndarray(shape, input.dtype, input, 0, (*(0,) * (len(shape) - len(given)), *kept))
    made.setflags(write=False)  # as broadcast_to has it: a write would be one to several elements
    return made


# --- joining ------------------------------------------------------------------------------------------------------


@kernel
def stack(*arrays: Any, dim: int = 0) -> Any:
    added = (slice(None),) * dim + (None,)
    return np.concatenate([each[added] for each in arrays], dim)


# --- along a dimension --------------------------------------------------------------------------------------------


def _extreme(name: str, find: str, reduce: Callable[..., Any]) -> None:
    def extreme(input: Any, dim: int, keepdim: bool = False) -> Any:
        if not input.ndim:
            return OPS[name].forward(namespace, input, dim, keepdim)
        return reduce(input, dim, None, None, keepdim), getattr(input, find)(dim, keepdims=keepdim)

    KERNELS[name] = extreme


_extreme("max_dim", "argmax", np.maximum.reduce)
_extreme("min_dim", "argmin", np.minimum.reduce)


@lru_cache(64)
def _remembered(shape: tuple[int, ...], steps: tuple[int, ...], dim: int) -> Any:
    return _starts(shape, steps, dim)


def _starts(shape: tuple[int, ...], steps: tuple[int, ...], dim: int) -> Any:
    """Where, among all elements, those begin that lie along `dim`: for each place in the other dimensions of an index."""
    made: Any = np.zeros((1,) * len(shape), np.intp)
    for each, (length, step) in enumerate(zip(shape, steps, strict=True)):
        if each != dim:
            made = made + (np.arange(length) * step).reshape([length if i == each else 1 for i in range(len(shape))])
    return made


def _places(array: Any, index: Any, dim: int) -> Any:
    """Where, among all elements of a contiguous array, those are that an index along `dim` means."""
    steps = tuple([each // array.itemsize for each in array.strides])
    starts = (_remembered if index.size <= _SMALL else _starts)(index.shape, steps, dim)
    return np.multiply(index, steps[dim], dtype=np.intp) + starts


@kernel
def gather_along(input: Any, index: Any, dim: int) -> Any:
    """`take_along_axis`, by one index into all elements."""
    if not input.flags.c_contiguous:
        return OPS["gather_along"].forward(namespace, input, index, dim)
    return input.reshape(-1).take(_places(input, index, dim))


@kernel
def scatter_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    made = input.copy()
    made.reshape(-1)[_places(made, index, dim)] = src[tuple(map(slice, index.shape))]
    return made


@kernel
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    made = np.ascontiguousarray(summing(input))
    places, terms = _places(made, index, dim), src[tuple(map(slice, index.shape))]
    np.add.at(made.reshape(-1), places.reshape(-1), terms.reshape(-1))  # of vectors it is many times as fast
    return made.astype(input.dtype, copy=False)
