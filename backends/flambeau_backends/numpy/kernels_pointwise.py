"""`hypot`, `frac`, `nan_to_num` and `lerp`, which NumPy computes by scalar functions or in many passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.engine.calls.op import OPS

from .chunks import in_chunk_pairs, in_chunks
from .constants import number
from .error_state import without_warnings
from .kernels import kernel
from .namespace import namespace

_SMALL_SIZE = 1 << 9  # number of elements up to which one scalar loop is faster than several passes
_SMALLEST, _LARGEST = 1e-30, 1e38  # range of sums of squares that are not affected by underflow or overflow


def _hypot(out: Any, x: Any, y: Any) -> None:
    np.multiply(x, x, out)
    np.add(out, np.multiply(y, y), out)
    if _SMALLEST < out.min() <= out.max() < _LARGEST:
        np.sqrt(out, out)
    else:
        np.hypot(x, y, out)


_large_hypot = without_warnings(lambda input, other: in_chunk_pairs(_hypot, input, other))


@kernel
def hypot(input: Any, other: Any) -> Any:
    if input.size <= _SMALL_SIZE or input.dtype != np.float32 or other.dtype != np.float32:
        return np.hypot(input, other)
    return _large_hypot(input, other)


def _frac(out: Any, x: Any) -> None:
    np.trunc(x, out)
    np.subtract(x, out, out)


_large_frac = without_warnings(lambda input: in_chunks(_frac, input))


@kernel
def frac(input: Any) -> Any:
    return np.subtract(input, np.trunc(input)) if input.size <= _SMALL_SIZE else _large_frac(input)


@kernel
@without_warnings
def nan_to_num_of(input: Any, nan: float, posinf: float, neginf: float) -> Any:
    if input.dtype.kind != "f":
        return OPS["nan_to_num_of"].forward(namespace, input, nan, posinf, neginf)

    def compute(out: Any, x: Any) -> None:
        np.copyto(out, x)
        if not np.isfinite(out).all():
            np.nan_to_num(out, False, nan, posinf, neginf)

    return in_chunks(compute, input)


@without_warnings
def _large_lerp(input: Any, end: Any, weight: float) -> Any:
    near = abs(weight) < 0.5
    factor = number(weight if near else 1 - weight, input.dtype)

    def compute(out: Any, first: Any, last: Any) -> None:
        np.subtract(last, first, out)
        np.multiply(out, factor, out)
        if near:
            np.add(first, out, out)
        else:
            np.subtract(last, out, out)

    return in_chunk_pairs(compute, input, end)


@kernel
def lerp_scalar(input: Any, end: Any, weight: Any) -> Any:
    if input.size <= _SMALL_SIZE or input.dtype.kind != "f" or input.dtype != end.dtype:
        return OPS["lerp_scalar"].forward(namespace, input, end, weight)
    return _large_lerp(input, end, weight)
