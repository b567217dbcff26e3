"""Memory orders of results, as in PyTorch: channels-last if an operand is channels-last, row-major for reductions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.backend import has_channels_last_strides, memory_order

__all__ = ["channels_last", "channels_second", "has_channels_last", "in_order_of", "in_rows", "keeps_channels_last"]


def channels_last(array: Any) -> Any:
    """Move the channels of images or weights from dimension 1 to the last dimension, as a view."""
    return array.transpose(0, *range(2, array.ndim), 1)


def channels_second(array: Any) -> Any:
    """Move the channels from the last dimension to dimension 1, as a view."""
    return array.transpose(0, array.ndim - 1, *range(1, array.ndim - 1))


def has_channels_last(array: Any) -> bool:
    """Whether the array is channels-last or a slice of a channels-last array, and not row-major."""
    if array is None or array.ndim not in (4, 5) or array.flags.c_contiguous:
        return False
    return has_channels_last_strides(array.shape, array.strides)


def in_rows(result: Any) -> Any:
    """Copy a reduction's result to row-major order, since NumPy keeps the input's order, in which a later `view` may fail."""
    return result if result.ndim < 2 or result.flags.c_contiguous else np.ascontiguousarray(result)


def in_order_of(input: Any, result: Any) -> Any:
    """Copy a result to the memory order of the input, unless it has that order already."""
    order = memory_order(input.shape, input.strides)
    ordered = result.transpose(order)
    return result if ordered.flags.c_contiguous else np.ascontiguousarray(ordered).transpose(np.argsort(order))


def keeps_channels_last(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel to return a channels-last result if its input or weight is channels-last."""

    @functools.wraps(kernel)
    def keeping(input: Any, weight: Any = None, *args: Any, **kwargs: Any) -> Any:
        result = kernel(input, weight, *args, **kwargs)
        if has_channels_last(input) or (type(weight) is np.ndarray and has_channels_last(weight)):
            return channels_second(np.ascontiguousarray(channels_last(result)))
        return result

    return keeping
