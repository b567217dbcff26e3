"""Processing of large arrays chunk by chunk, so that temporary arrays stay in the processor's cache."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .threads import LARGE, get_num_threads, parts, share

__all__ = [
    "CHUNK",
    "SHARED",
    "cache_size",
    "chunks",
    "contiguous",
    "in_chunk_pairs",
    "in_chunks",
    "map_chunks",
    "map_parts",
    "select",
    "split",
]  # fmt: skip

CHUNK = 1 << 16  # number of elements per chunk if one thread processes all chunks
SHARED = 1 << 19  # elements above which several passes over an array are split between threads
_IN_THREADS = 1 << 18  # elements per chunk with several threads: see `map_chunks`


def chunks(length: int, width: int = 1) -> Iterator[slice]:
    """Return slices that cover `length` rows of `width` elements, with about `CHUNK` elements each."""
    step = max(1, CHUNK // max(width, 1))
    return (slice(start, start + step) for start in range(0, length, step))


def map_chunks(compute: Callable[[slice], Any], length: int, width: int = 1, shared_from: int = SHARED) -> list[Any]:
    """Call `compute` for each chunk and return the results in order, with several threads from `shared_from` elements on.

    Threads get longer chunks: when a NumPy call ends while another thread holds the GIL, its thread waits about 10 us.  Calls of
    5 us take longer in two threads than in one, calls of 100 us little more than half as long.
    """
    if length * width >= shared_from and get_num_threads() > 1:
        return share(compute, parts(length, _IN_THREADS // max(width, 1), True))
    return [compute(chunk) for chunk in chunks(length, width)]


def map_parts(compute: Callable[[slice], Any], length: int, width: int = 1) -> list[Any]:
    """Like `map_chunks`, for functions without temporary arrays: `length` is divided into one part per thread, or not at all."""
    if length * width >= SHARED and get_num_threads() > 1:
        return share(compute, parts(length, length, True))
    return [compute(slice(None))]


@functools.cache
def cache_size() -> int:
    """Return the size of the processor's L2 cache in bytes; 1 MiB if the system does not report it."""
    with suppress(OSError, ValueError):
        size = Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text(encoding="ascii")
        return int(size.rstrip().removesuffix("K")) << 10
    return 1 << 20


_LINE = 64  # bytes of a line of the cache
_LEAST_OF_SLABS = 1 << 14  # number of elements


def contiguous(array: Any) -> Any:
    """Return the array in row-major order, copied if necessary.

    Elements that are a multiple of 1024 bytes apart share a few sets of the cache.  An array with such elements in the last
    dimension is copied in slabs, as wide as a line of the cache.
    """
    if array.flags.c_contiguous:
        return array
    if array.size < _LEAST_OF_SLABS:
        return array.copy()
    result, width = np.empty(array.shape, array.dtype), _LINE // array.itemsize
    if width > 1 and array.strides[-1] and array.strides[-1] % 1024 == 0:
        for start in range(0, array.shape[-1], width):
            result[..., start : start + width] = array[..., start : start + width]
        return result

    def copy(chunk: slice) -> None:
        result[chunk] = array[chunk]

    map_chunks(copy, len(array), result[:1].size, LARGE)
    return result


def in_chunks(compute: Callable[..., None], *arrays: Any, width: int = 1, dtype: Any = None) -> Any:
    """Return an array filled by `compute(out, *chunks)`, given arrays of equal shape.

    `width` is the number of temporary arrays: with more of them, chunks are shorter.  `dtype` defaults to the first array's.
    """
    first = arrays[0]
    dtype = dtype or first.dtype
    if first.ndim and first.size * width <= CHUNK and all(array.flags.c_contiguous for array in arrays):
        result = np.empty(first.shape, dtype)
        compute(result, *arrays)
        return result
    order: Any = "C"
    if not first.flags.c_contiguous:
        result = np.empty_like(first, dtype)
        order = "K" if all(_steps(array) == _steps(result) for array in arrays) else "C"  # "K" if all have the same dense strides
    if order == "C":
        result = np.empty(first.shape, dtype)
    flat = [array.ravel(order) for array in (result, *arrays)]
    if result.size * width <= CHUNK:
        compute(*flat)
        return result
    map_chunks(lambda chunk: compute(*(array[chunk] for array in flat)), result.size, width)
    return result


def _steps(array: Any) -> list[int]:
    """Return the strides in elements."""
    return [stride // array.itemsize for stride in array.strides]


def in_chunk_pairs(compute: Callable[..., None], input: Any, other: Any, width: int = 1, dtype: Any = None) -> Any:
    """Like `in_chunks`, for two arrays that broadcast; 0-d arrays are passed unchanged."""
    if input.shape == other.shape:
        return in_chunks(compute, input, other, width=width, dtype=dtype)
    if not other.ndim:
        return in_chunks(lambda out, x: compute(out, x, other), input, width=width, dtype=dtype)
    if not input.ndim:
        return in_chunks(lambda out, y: compute(out, input, y), other, width=width, dtype=dtype)
    return in_chunks(compute, *np.broadcast_arrays(input, other), width=width, dtype=dtype)


_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def select(mask: Any, array: Any, other: Any = None, out: Any = None) -> Any:
    """Compute `where(mask, array, other or 0)` by bitwise operations instead of branches; write to `out` if given."""
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
    """Return `where(mask, array, 0)` and `where(mask, 0, array)`; the second is the XOR of `array` and the first."""
    chosen, bits = select(mask, array), _BITS[array.dtype.itemsize]
    return chosen, np.bitwise_xor(array.view(bits), chosen.view(bits)).view(array.dtype)
