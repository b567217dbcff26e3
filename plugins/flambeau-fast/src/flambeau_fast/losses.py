"""The cross entropy of classes.  Its kernels pay for small batches, too: NumPy takes several calls for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .kernels import kernels

LEAST = 1 << 6
LEAST_SUMS = 1 << 10  # of the logarithms of sums, which take NumPy few calls


@fast(LEAST_SUMS)
def log_sum_exp(input: Any, dim: int) -> Any:
    if dim not in (-1, input.ndim - 1) or not is_dense(input):
        return None
    result = np.empty((*input.shape[:-1], 2), FLOAT)
    kernels.log_sum_exp(result.reshape(-1, 2), input.reshape(-1, input.shape[-1]))
    return result


def _suit(input: Any, target: Any, weight: Any, ignore_index: int) -> bool:
    """Whether the kernels take these; one of the targets may still be ignored, or no class."""
    classes = target.dtype == np.int64 and target.flags.c_contiguous and not 0 <= ignore_index < input.shape[1]
    return classes and weight is None and input.ndim == 2 and target.shape == input.shape[:1] and is_dense(input)


@fast(LEAST)
def cross_entropy(
    input: Any, log_sum: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    if reduction == "none" or not _suit(input, target, weight, ignore_index):
        return None
    result = np.empty(2)
    kernels.cross_entropy_sum(result, np.ascontiguousarray(log_sum), input, target)
    total, strange = result.tolist()
    if strange:
        return None
    return FLOAT.type(total / len(target) if reduction == "mean" else total)


@fast(LEAST, of=1)
def cross_entropy_backward(g: Any, input: Any, log_sum: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    if g.dtype is not FLOAT or not _suit(input, target, weight, ignore_index):
        return None
    scales = g.reshape(-1) / FLOAT.type(len(target)) if reduction == "mean" else np.ascontiguousarray(g.reshape(-1))
    grad_input, strange = np.empty(input.shape, FLOAT), np.zeros(1, np.int64)
    kernels.cross_entropy_gradient(grad_input, input, np.ascontiguousarray(log_sum), target, strange, scales)
    return None if strange[0] else grad_input
