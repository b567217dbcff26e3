"""Softmax and layer normalization, row by row."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .kernels import kernels

LEAST = 1 << 12
STRIPS = 16  # partial sums of gradients; a fixed number, so that results do not depend on the number of threads


def _rows(dim: int, *arrays: Any) -> list[Any] | None:
    """The arrays as matrices; None unless `dim` is the last dimension and all are dense and of one shape."""
    if dim not in (-1, arrays[0].ndim - 1) or not is_dense(*arrays) or len({array.shape for array in arrays}) > 1:
        return None
    return [array.reshape(-1, array.shape[-1]) for array in arrays]


def _by_rows(loop: Any, dim: int, *arrays: Any) -> Any:
    rows = _rows(dim, *arrays)
    if rows is None:
        return None
    result = np.empty(arrays[0].shape, FLOAT)
    loop(result.reshape(rows[0].shape), *rows)
    return result


# --- softmax ------------------------------------------------------------------------------------------------------


@fast(LEAST)
def softmax(input: Any, dim: int) -> Any:
    return _by_rows(kernels.softmax, dim, input)


@fast(LEAST)
def log_softmax(input: Any, dim: int) -> Any:
    return _by_rows(kernels.log_softmax, dim, input)


@fast(LEAST)
def softmax_backward(g: Any, out: Any, dim: int) -> Any:
    return _by_rows(kernels.softmax_backward, dim, g, out)


@fast(LEAST)
def log_softmax_backward(g: Any, out: Any, dim: int) -> Any:
    return _by_rows(kernels.log_softmax_backward, dim, g, out)


# --- layer normalization ------------------------------------------------------------------------------------------


def _normal_rows(input: Any, weight: Any, bias: Any, dims: Any) -> tuple[Any, Any, Any] | None:
    """The input as a matrix, and weight and bias (or their defaults); None unless the last dimensions are normalized."""
    count = len(dims)
    length = prod(input.shape[input.ndim - count :])
    if tuple(dims) not in (tuple(range(-count, 0)), tuple(range(input.ndim - count, input.ndim))) or not is_dense(input):
        return None
    parameters = []
    for parameter, value in ((weight, 1), (bias, 0)):
        if parameter is None:
            parameter = np.full(length, value, FLOAT)
        elif parameter.size != length or parameter.ndim > count or not is_dense(parameter):
            return None
        parameters.append(parameter.reshape(-1))
    return input.reshape(-1, length), *parameters


@fast(LEAST)
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
    arguments = _normal_rows(input, weight, bias, dims)
    if arguments is None or mean is not None:
        return None
    rows, weight, bias = arguments
    output, moments = np.empty(input.shape, FLOAT), np.empty((2, len(rows)), FLOAT)
    kernels.layer_norm(output.reshape(rows.shape), *moments, rows, weight, bias, FLOAT.type(eps))
    if workspace is not None:
        workspace["row moments"] = moments
    return output


def layer_norm_backward(g: Any, input: Any, weight: Any, bias: Any, dims: Any, workspace: Any) -> Any:
    """The gradients of `layer_norm`, from the moments that its forward saved; None if another kernel was the forward."""
    moments = workspace.get("row moments") if workspace else None
    arguments = None if moments is None or not is_dense(g) else _normal_rows(input, weight, None, dims)
    if arguments is None:
        return None
    rows, weights, _ = arguments
    grad_input, grad_parameters = np.empty(input.shape, FLOAT), np.zeros((2, STRIPS, rows.shape[1]), FLOAT)
    kernels.layer_norm_backward(*grad_parameters, grad_input.reshape(rows.shape), g.reshape(rows.shape), rows, *moments, weights)
    grad_weight, grad_bias = grad_parameters.sum(1)
    return (
        grad_input,
        None if weight is None else grad_weight.reshape(weight.shape),
        None if bias is None else grad_bias.reshape(bias.shape),
    )
