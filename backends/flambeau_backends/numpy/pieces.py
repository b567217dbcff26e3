"""Working through large arrays a piece at a time, so that temporaries stay in the processor's cache."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .threads import LARGE, share

__all__ = ["by_pieces", "contiguous", "over_pieces", "pieces", "select", "wide"]

PIECE = 1 << 15  # elements at a time


def pieces(length: int, width: int = 1) -> Iterator[slice]:
    """Slices of `length` rows of `width` elements, of a piece each."""
    step = max(1, PIECE // max(width, 1))
    return (slice(start, start + step) for start in range(0, length, step))


def over_pieces(compute: Callable[[slice], Any], length: int, width: int = 1) -> list[Any]:
    """What `compute` returns for each piece, in order; several threads share the work where it is large."""
    todo = list(pieces(length, width))
    return share(compute, todo) if length * width >= LARGE else [compute(piece) for piece in todo]


def contiguous(array: Any) -> Any:
    """The array in row-major order: itself, or a copy."""
    if array.flags.c_contiguous:
        return array
    made = np.empty(array.shape, array.dtype)

    def copy(piece: slice) -> None:
        made[piece] = array[piece]

    over_pieces(copy, len(array), made[:1].size)
    return made


def by_pieces(compute: Callable[..., None], *arrays: Any) -> Any:
    """The array that `compute(out, *pieces)` fills, from arrays of one shape."""
    first = arrays[0]
    if first.ndim and first.size <= PIECE and all(each.flags.c_contiguous for each in arrays):
        made = np.empty(first.shape, first.dtype)
        compute(made, *arrays)
        return made
    order: Any = "C"
    if not first.flags.c_contiguous:
        made = np.empty_like(first)
        order = "K" if all(each.strides == made.strides for each in arrays) else "C"  # all densely, in one order
    if order == "C":
        made = np.empty(first.shape, first.dtype)
    flat = [each.ravel(order) for each in (made, *arrays)]
    if made.size <= PIECE:
        compute(*flat)
        return made
    over_pieces(lambda piece: compute(*(each[piece] for each in flat)), made.size)
    return made


_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def select(mask: Any, array: Any, other: Any = None) -> Any:
    """`where(mask, array, other or 0)` without a branch for each element, of arrays of one dtype."""
    bits = _BITS.get(array.dtype.itemsize)
    if bits is None:
        return np.where(mask, array, array.dtype.type(0) if other is None else other)
    if other is None:
        return np.multiply(array.view(bits), mask.astype(bits)).view(array.dtype)
    rest = other.view(bits)
    made = np.bitwise_xor(array.view(bits), rest)
    made = np.multiply(made, mask.astype(bits))
    return np.bitwise_xor(made, rest).view(array.dtype)


def wide(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of a gradient that computes half precision in single."""

    @functools.wraps(kernel)
    def widened(*args: Any) -> Any:
        given = args[0].dtype
        if given.itemsize != 2:
            return kernel(*args)
        made = kernel(*(each.astype(np.float32) if getattr(each, "dtype", None) == given else each for each in args))
        if isinstance(made, tuple):
            return tuple(None if each is None else each.astype(given) for each in made)
        return made.astype(given)

    return widened
