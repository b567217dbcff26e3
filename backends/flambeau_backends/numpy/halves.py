"""Half precision: fast conversions of float16, and float16 and bfloat16 operations computed in float32.

NumPy converts float16 element by element, taking about 140 ns for a subnormal result, because the processor then raises a flag;
its float16 operations convert each operand in this way.  Here a conversion is a few branch-free passes over chunks of the array.
An operation converts its operands, computes in float32, and rounds its result once, as in PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from flambeau.extension import Kind, facts_of, names

from .chunks import in_chunk_pairs, in_chunks, map_chunks
from .error_state import without_warnings

__all__ = ["CONVERSIONS", "LOOPS", "cast", "half_kernels", "pairs_to_single"]

Kernel = Callable[..., Any]

_HALF, _SINGLE = np.dtype(np.float16), np.dtype(np.float32)
_INFINITE = 0x7C00  # the bits of infinity in float16; as integers, the bits of NaNs are larger


def _widen(out: Any, halves: Any) -> None:
    """Convert float16 to float32: shift the bits, and multiply by 2**112 to correct the exponent bias (exact)."""
    bits, words = halves.view(np.int16), out.view(np.int32)
    words[...] = bits
    np.left_shift(words, 13, words)
    np.bitwise_and(words, -0x70002000, words)  # clear the sign copies in the exponent but keep the sign bit
    np.multiply(out, _SINGLE.type(2.0**112), out)
    if bits.max() >= _INFINITE or bits.view(np.uint16).max() >= 0x8000 + _INFINITE:
        np.bitwise_or(words, (bits & _INFINITE == _INFINITE) * np.int32(0x7F800000), words)


def _round(out: Any, singles: Any) -> None:
    """Round float32 to float16: add a power of two chosen so that the sum is rounded at float16's last digit.

    The float16 bits are the shifted exponent of the sum plus its low digits, which count units in the last place.
    """
    magnitude, is_nan = np.abs(singles), None
    if not magnitude.max() < 65536:
        is_nan = np.isnan(magnitude)
        magnitude = np.fmin(magnitude, _SINGLE.type(65536))  # float16 rounds 65536 to infinity
    total = np.full_like(magnitude, 2.0**-14)  # the smallest normal float16; an array, because `np.maximum` is slow with a scalar
    np.maximum(magnitude, total, out=total)
    bits, words = total.view(np.uint32), magnitude.view(np.uint32)
    np.bitwise_and(bits, 0x7F800000, bits)
    np.multiply(total, _SINGLE.type(8192 + 2), total)  # the 2 increases the result's exponent by 2, to float16's bias
    np.add(total, magnitude, total)
    np.right_shift(bits, 13, words)
    np.add(words, bits, words)
    np.right_shift(singles.view(np.uint32), 16, bits)
    np.bitwise_and(bits, 0x8000, bits)
    np.bitwise_or(words, bits, words)
    halves = out.view(np.uint16)
    np.copyto(halves, words, casting="unsafe")  # keep the low 16 bits
    if is_nan is not None:
        np.bitwise_or(halves, is_nan * np.uint16(0x7E00), halves)


def pairs_to_single(halves: Any) -> Any:
    """Convert float16 or bfloat16 rows `(N, L)` to float32 `(2, N, L / 2)`, elements at even and at odd places.

    It takes fewer passes than a conversion in order.  Results from float16 are scaled by 2**-112.  Return None if an element of
    float16 is infinite or NaN, or if the memory is not aligned.
    """
    words = halves.view(np.int32)
    if not words.flags.aligned:
        return None
    result = np.empty((2, *words.shape), np.int32)
    even, odd = result if sys.byteorder == "little" else result[::-1]
    np.left_shift(words, 16, even)
    if halves.dtype != _HALF:  # bfloat16 is the upper half of float32
        np.bitwise_and(words, -0x10000, odd)
        return result.view(_SINGLE)
    if halves.view(np.int16).max() >= _INFINITE or halves.view(np.uint16).max() >= 0x8000 + _INFINITE:
        return None
    np.right_shift(even, 3, even)
    np.right_shift(words, 3, odd)
    np.bitwise_and(result, -0x70002000, result)  # clear the sign copies in the exponent, and the digits of the other element
    return result.view(_SINGLE)


# Faster conversions by (source, target) dtype: the number of elements from which they are faster than NumPy's, and a function
# `convert(out, vector)`.  A kernel pack may replace them.
CONVERSIONS: dict[tuple[Any, Any], tuple[int, Callable[[Any, Any], None]]] = {
    (_HALF, _SINGLE): (1 << 13, lambda out, halves: _in_chunks(_widen, out, halves)),
    (_SINGLE, _HALF): (1 << 14, lambda out, singles: _in_chunks(_round, out, singles)),
}
_LEAST = 1 << 8  # minimum number of elements for using CONVERSIONS


def _in_chunks(convert: Callable[[Any, Any], None], out: Any, vector: Any) -> None:
    map_chunks(lambda chunk: convert(out[chunk], vector[chunk]), len(vector))


def cast(array: Any, dtype: Any) -> Any:
    """Like `array.astype(dtype)`, but faster between float16 and float32."""
    found = CONVERSIONS.get((array.dtype, dtype)) if array.size >= _LEAST else None
    if found is None or array.size < found[0]:
        return array.astype(dtype)
    flags = array.flags
    if not (flags.forc and flags.aligned):
        array = array.copy(order="K")
    result = np.empty_like(array, dtype)
    found[1](result.ravel("K"), array.ravel("K"))
    return result


# --- operations ---------------------------------------------------------------------------------------------------

_EXACT = ("relu", "relu_backward", "round")  # operations with exact results in float16: small arrays use NumPy's float16 loops
_SMALL_SIZE = 1 << 12  # number of elements up to which NumPy's float16 loops take less time than converting
_BOOL = np.dtype(bool)


# float16 and bfloat16 kernels from a kernel pack, by name; they return None for arrays that they do not support.
LOOPS: dict[str, Kernel] = {}


def half_kernels(kernels: Mapping[str, Kernel], products: Mapping[str, Kernel]) -> Mapping[str, Kernel]:
    """Return float16 and bfloat16 kernels, by name: of operations whose results are rounded once from float32, and `products`."""
    found = {name: _half_kernel(name, kernels[name]) for name in names(rounds_once=True) & kernels.keys()} | dict(products)
    return found | {name: _with_fallback(loop, found.get(name) or _in_single(kernels[name])) for name, loop in LOOPS.items()}


def _half_kernel(name: str, kernel: Kernel) -> Kernel:
    """Return a half-precision kernel computed by a float32 kernel; small arrays use NumPy's float16 ufunc if there is one."""
    if facts_of(name).kind is not Kind.POINTWISE:
        return _in_single(kernel)
    is_comparison = isinstance(kernel, np.ufunc) and "ff->?" in kernel.types
    in_chunks_of = _in_chunks_of_float32(kernel, _BOOL if is_comparison else None)
    return _by_size(in_chunks_of, kernel) if isinstance(kernel, np.ufunc) or name in _EXACT else in_chunks_of


def _with_fallback(kernel: Kernel, other: Kernel) -> Kernel:
    """Return a kernel that calls `kernel`, or `other` if that returns None or does not support the memory of an array."""

    def chosen(*arrays: Any) -> Any:
        try:
            result = kernel(*arrays)
        except BufferError:
            result = None
        return other(*arrays) if result is None else result

    return chosen


def _by_size(kernel: Kernel, few: Kernel) -> Kernel:
    """Return a kernel that calls `kernel` for large arrays and `few` for small ones."""
    return lambda *args: kernel(*args) if any(getattr(arg, "size", 0) > _SMALL_SIZE for arg in args) else few(*args)


def _in_single(kernel: Kernel) -> Kernel:
    """Wrap a float32 kernel: cast half-precision arguments to float32, and results back."""

    def computed(*args: Any) -> Any:
        dtype = next(arg.dtype for arg in args if hasattr(arg, "dtype"))
        result = kernel(*_cast_arrays(args, dtype, _SINGLE))
        if isinstance(result, tuple):
            return tuple(_cast_arrays(result, _SINGLE, dtype))
        return cast(np.asarray(result), dtype)

    return computed


def _cast_arrays(values: Iterable[Any], old: Any, new: Any) -> list[Any]:
    """Return the values, with arrays of dtype `old` cast to `new`."""
    return [cast(np.asarray(value), new) if getattr(value, "dtype", None) == old else value for value in values]


def _in_chunks_of_float32(kernel: Kernel, result_dtype: Any = None) -> Kernel:
    """Wrap an elementwise float32 kernel to cast and compute half-precision arrays chunk by chunk."""

    of_others = _in_single(kernel) if result_dtype is None else kernel

    @without_warnings
    def computed(*args: Any) -> Any:
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        params = args[len(arrays) :]
        if not arrays or arrays[0] is not args[0] or arrays[0].dtype != arrays[-1].dtype:  # number first, or mixed dtypes
            return of_others(*args)

        def compute(out: Any, *halves: Any) -> None:
            _write(out, kernel(*[cast(half, _SINGLE) for half in halves], *params))

        run = in_chunks if len(arrays) == 1 else in_chunk_pairs
        return run(compute, *arrays, dtype=result_dtype)

    return computed


def _write(out: Any, vector: Any) -> None:
    """Copy `vector` to `out`, converted to its dtype."""
    found = CONVERSIONS.get((vector.dtype, out.dtype))
    if found is None or vector.size < found[0] or not out.flags.c_contiguous:
        np.copyto(out, vector, casting="unsafe")
    else:
        found[1](out.reshape(-1), vector.reshape(-1))
