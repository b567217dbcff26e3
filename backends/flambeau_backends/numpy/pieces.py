"""Working through large arrays a piece at a time, so that temporaries stay in the processor's cache."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .threads import LARGE, get_num_threads, parts, share

__all__ = [
    "PIECE", "SHARED", "by_pairs_of_pieces", "by_pieces", "cache_size", "contiguous", "over_parts", "over_pieces", "pieces",
    "select", "split",
]  # fmt: skip

PIECE = 1 << 16  # elements at a time, in one thread
SHARED = 1 << 19  # elements from which on threads share what takes several passes
_IN_THREADS = 1 << 18  # elements at a time then: see `over_pieces`


def pieces(length: int, width: int = 1) -> Iterator[slice]:
    """Slices that cover `length` rows of `width` elements, with about `PIECE` elements each."""
    step = max(1, PIECE // max(width, 1))
    return (slice(start, start + step) for start in range(0, length, step))


def over_pieces(compute: Callable[[slice], Any], length: int, width: int = 1, shared_from: int = SHARED) -> list[Any]:
    """What `compute` returns for each piece, in order; threads share what has at least `shared_from` elements.

    Pieces are longer then, since a thread waits some 10 us for Python's lock after a call into NumPy that ends while the other
    thread holds it: calls of 5 us take longer in two threads than in one, those of 100 us little more than half.
    """
    if length * width >= shared_from and get_num_threads() > 1:
        return share(compute, parts(length, _IN_THREADS // max(width, 1), True))
    return [compute(piece) for piece in pieces(length, width)]


def over_parts(compute: Callable[[slice], Any], length: int, width: int = 1) -> list[Any]:
    """Like `over_pieces`, for what needs no temporaries: one part for each thread, or all at once."""
    if length * width >= SHARED and get_num_threads() > 1:
        return share(compute, parts(length, length, True))
    return [compute(slice(None))]


@functools.cache
def cache_size() -> int:
    """Bytes in the second-level cache of a processor; a megabyte where the system does not say."""
    with suppress(OSError, ValueError):
        return int(Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().rstrip().removesuffix("K")) << 10
    return 1 << 20


def contiguous(array: Any) -> Any:
    """The array in row-major order: itself, or a copy."""
    if array.flags.c_contiguous:
        return array
    result = np.empty(array.shape, array.dtype)

    def copy(piece: slice) -> None:
        result[piece] = array[piece]

    over_pieces(copy, len(array), result[:1].size, LARGE)
    return result


def by_pieces(compute: Callable[..., None], *arrays: Any, width: int = 1, dtype: Any = None) -> Any:
    """The array that `compute(out, *pieces)` fills, from arrays of one shape; pieces are shorter where temporaries are wide.

    It has the first array's dtype, unless there is another.
    """
    first = arrays[0]
    dtype = dtype or first.dtype
    if first.ndim and first.size * width <= PIECE and all(array.flags.c_contiguous for array in arrays):
        result = np.empty(first.shape, dtype)
        compute(result, *arrays)
        return result
    order: Any = "C"
    if not first.flags.c_contiguous:
        result = np.empty_like(first, dtype)
        order = "K" if all(_steps(array) == _steps(result) for array in arrays) else "C"  # all dense, in one memory order
    if order == "C":
        result = np.empty(first.shape, dtype)
    flat = [array.ravel(order) for array in (result, *arrays)]
    if result.size * width <= PIECE:
        compute(*flat)
        return result
    over_pieces(lambda piece: compute(*(array[piece] for array in flat)), result.size, width)
    return result


def _steps(array: Any) -> list[int]:
    """Strides in elements."""
    return [stride // array.itemsize for stride in array.strides]


def by_pairs_of_pieces(compute: Callable[..., None], input: Any, other: Any, width: int = 1, dtype: Any = None) -> Any:
    """`by_pieces` for two arrays that broadcast, in which a single number stays one."""
    if input.shape == other.shape:
        return by_pieces(compute, input, other, width=width, dtype=dtype)
    if not other.ndim:
        return by_pieces(lambda out, x: compute(out, x, other), input, width=width, dtype=dtype)
    if not input.ndim:
        return by_pieces(lambda out, y: compute(out, input, y), other, width=width, dtype=dtype)
    return by_pieces(compute, *np.broadcast_arrays(input, other), width=width, dtype=dtype)


_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def select(mask: Any, array: Any, other: Any = None, out: Any = None) -> Any:
    """`where(mask, array, other or 0)` for arrays of one dtype, computed without branches, on the bits; into `out`, if given."""
    bits = _BITS.get(array.dtype.itemsize)
    if bits is None:
        result = np.where(mask, array, array.dtype.type(0) if other is None else other)
        if out is not None:
            out[...] = result
        return result
    chosen, target = mask.astype(bits), None if out is None else out.view(bits)
    if other is None:
        return np.multiply(array.view(bits), chosen, target).view(array.dtype)
    other_bits = other.view(bits)
    difference = np.bitwise_xor(array.view(bits), other_bits)
    difference = np.multiply(difference, chosen)
    return np.bitwise_xor(difference, other_bits, target).view(array.dtype)


def split(mask: Any, array: Any) -> tuple[Any, Any]:
    """`where(mask, array, 0)` and `where(mask, 0, array)`, the latter as what the former leaves of the array's bits."""
    chosen, bits = select(mask, array), _BITS[array.dtype.itemsize]
    return chosen, np.bitwise_xor(array.view(bits), chosen.view(bits)).view(array.dtype)
