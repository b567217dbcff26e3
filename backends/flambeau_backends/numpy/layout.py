"""Channels-last memory: where an argument of an operation has it, the result gets it too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["has_channels_last", "keeps_channels_last"]


def has_channels_last(array: Any) -> bool:
    if array is None or array.flags.c_contiguous or array.ndim not in (4, 5):
        return False
    return bool(np.moveaxis(array, 1, -1).flags.c_contiguous)


def keeps_channels_last(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose result lies in memory as its input does, or its weight."""

    @functools.wraps(kernel)
    def keeping(input: Any, weight: Any = None, *args: Any, **kwargs: Any) -> Any:
        made = kernel(input, weight, *args, **kwargs)
        if has_channels_last(input) or (type(weight) is np.ndarray and has_channels_last(weight)):
            return np.moveaxis(np.ascontiguousarray(np.moveaxis(made, 1, -1)), -1, 1)
        return made

    return keeping
