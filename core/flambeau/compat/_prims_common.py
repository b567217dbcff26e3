"""The functions of `torch._prims_common` that libraries use: properties of dtypes, shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ..backend import contiguous_strides

__all__ = [
    "canonicalize_dim", "canonicalize_dims", "get_computation_dtype", "is_contiguous_or_false", "make_contiguous_strides_for",
    "suggest_memory_format",
]  # fmt: skip

_COMPUTED_IN = {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.complex32: torch.complex64}


def get_computation_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype in which values of a dtype are accumulated: single precision for half precision.

    >>> torch._prims_common.get_computation_dtype(torch.float16)
    torch.float32
    """
    return _COMPUTED_IN.get(dtype, dtype)


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """Return the index of a dimension, counted from the start.

    Raises:
        IndexError: the dimension does not exist.
    """
    if rank == 0 and wrap_scalar:
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})")
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """Return the indices of dimensions, counted from the start; an integer gives an integer."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, index, wrap_scalar) for index in indices)


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor; with `row_major=False`, those of contiguous matrices that are transposed."""
    strides = contiguous_strides([max(size, 1) for size in shape])
    if row_major or len(shape) < 2:
        return strides
    return (*strides[:-2], 1, max(shape[-2], 1))


def is_contiguous_or_false(a: torch.Tensor) -> bool:
    """Whether a tensor is contiguous."""
    return bool(a.is_contiguous())


def suggest_memory_format(x: torch.Tensor) -> torch.memory_format:
    """Return the memory format that fits the strides of a tensor: channels last or contiguous."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if x.layout is torch.strided and x.ndim in formats:
        order = [0, *range(2, x.ndim), 1]
        strides = [x.stride(dim) for dim in order]
        channels_last = x.is_contiguous(memory_format=formats[x.ndim]) and not x.is_contiguous()
        if channels_last or (strides == sorted(strides, reverse=True) and not x.is_contiguous() and x.stride(1) == 1):
            return formats[x.ndim]
    return torch.contiguous_format
