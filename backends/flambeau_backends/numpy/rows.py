"""Kernels that return contiguous (row-major) results, as in PyTorch.

NumPy's results have the memory order of the arguments.  In PyTorch only elementwise operations behave like that; most others
return contiguous tensors, and programs rely on it when they call `view`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from flambeau.backend import has_channels_last_strides
from flambeau.engine.calls.op import OPS

from . import kernels_cumulative, kernels_index, kernels_nn, kernels_resample, sums  # noqa: F401  (registers their kernels first)
from .kernels import KERNELS, kernel
from .layout import channels_last, has_channels_last
from .namespace import namespace

__all__: list[str] = []


def _returning_rows(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def returning(*args: Any, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        return result if result.flags.c_contiguous else np.ascontiguousarray(result)

    return returning


for _name in ("cumprod", "cumsum", "logcumsumexp", "logsumexp", "masked_fill", "prod", "tril", "triu"):
    KERNELS[_name] = _returning_rows(KERNELS.get(_name) or partial(OPS[_name].forward, namespace))


def _row_major_unless_channels_last(result: Any, *args: Any) -> Any:
    """Make the result row-major, unless all arguments are channels-last."""
    arrays = (arg for arg in args if type(arg) is np.ndarray)
    keeps_order = all(has_channels_last_strides(array.shape, array.strides) for array in arrays)
    return result if keeps_order else np.ascontiguousarray(result)


_roll = KERNELS.get("roll") or partial(OPS["roll"].forward, namespace)


@kernel
def roll(*args: Any) -> Any:
    result = _roll(*args)
    return result if result.flags.c_contiguous else _row_major_unless_channels_last(result, *args)


@kernel
def stack(*arrays: Any, dim: int = 0) -> Any:
    if not dim and all(map(has_channels_last, arrays)):
        return np.moveaxis(np.stack([channels_last(array) for array in arrays]), -1, 2)
    result = np.stack(arrays, dim)
    return result if result.flags.c_contiguous else np.ascontiguousarray(result)


@kernel
def cat(*arrays: Any, dim: int = 0) -> Any:
    result = np.concatenate(arrays, dim)
    return result if result.flags.c_contiguous else _row_major_unless_channels_last(result, *arrays)
