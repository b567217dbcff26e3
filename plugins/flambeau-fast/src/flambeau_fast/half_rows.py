"""Softmax, layer and RMS normalization of the rows of float16 and bfloat16 arrays."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import halves

from .half_matrix import DTYPES, WORD
from .kernels import kernels


def _by_rows(loop: Callable[..., None]) -> Callable[..., Any]:
    """Return a kernel of the last dimension of contiguous arrays; it returns None for others."""

    def kernel(input: Any, dim: int) -> Any:
        shape = input.shape
        if dim not in (-1, len(shape) - 1) or not input.size or not input.flags.c_contiguous:
            return None
        result = np.empty(shape, WORD)
        loop(result.reshape(-1, shape[-1]), input.view(WORD).reshape(-1, shape[-1]), DTYPES[input.dtype])
        return result.view(input.dtype)

    return kernel


def layer_norm(
    input: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    variance: Any = None,
    dims: Any = (),
    eps: float = 0.0,
    workspace: Any = None,
) -> Any:
    shape, dtype = input.shape, input.dtype
    if mean is not None or workspace is not None or len(dims) != 1 or dims[0] not in (-1, len(shape) - 1):
        return None
    if not input.size or not input.flags.c_contiguous:
        return None
    parameters = []
    for parameter in (weight, bias):
        if parameter is not None and (parameter.dtype != dtype or parameter.size != shape[-1]):
            return None
        parameters.append(None if parameter is None else np.ascontiguousarray(parameter).view(WORD).reshape(-1))
    result = np.empty(shape, WORD)
    kernels.half_layer_norm(
        result.reshape(-1, shape[-1]), input.view(WORD).reshape(-1, shape[-1]), *parameters, eps, DTYPES[dtype]
    )
    return result.view(dtype)


def rms_norm_rows(input: Any, weight: Any, count: int, eps: float) -> Any:
    shape, dtype = input.shape, input.dtype
    length = prod(shape[input.ndim - count :])
    if not input.size or not input.flags.c_contiguous or (weight is not None and weight.dtype != dtype):
        return None
    parameter = None if weight is None else np.ascontiguousarray(weight).view(WORD).reshape(-1)
    result = np.empty(shape, WORD)
    kernels.half_rms_norm(result.reshape(-1, length), input.view(WORD).reshape(-1, length), parameter, eps, DTYPES[dtype])
    return result.view(dtype)


halves.LOOPS.update(
    {
        "softmax": _by_rows(kernels.half_softmax),
        "log_softmax": _by_rows(kernels.half_log_softmax),
        "layer_norm": layer_norm,
        "rms_norm_rows": rms_norm_rows,
    }
)
