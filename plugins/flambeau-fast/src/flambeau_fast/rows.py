"""Softmax, cross entropy, variance and layer normalization, row by row."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .kernels import kernels

STRIPS = 16  # number of partial sums of each gradient; constant, so that results do not depend on the number of threads


# --- softmax ------------------------------------------------------------------------------------------------------


@fast(1)
def softmax(input: Any, dim: int) -> Any:
    return _by_rows(kernels.softmax, dim, input)


@fast(1)
def log_softmax(input: Any, dim: int) -> Any:
    return _by_rows(kernels.log_softmax, dim, input)


def _by_rows(loop: Any, dim: int, input: Any) -> Any:
    shape = input.shape
    if dim != -1 and dim != len(shape) - 1:
        return None
    result = np.empty(shape, FLOAT)
    loop(result, input)
    return result


@fast(1)
def softmax_backward(g: Any, out: Any, dim: int) -> Any:
    return _by_two_rows(kernels.softmax_backward, dim, g, out)


@fast(1)
def log_softmax_backward(g: Any, out: Any, dim: int) -> Any:
    return _by_two_rows(kernels.log_softmax_backward, dim, g, out)


def _by_two_rows(loop: Any, dim: int, g: Any, out: Any) -> Any:
    shape = g.shape
    if dim not in (-1, len(shape) - 1) or out.shape != shape or out.dtype is not FLOAT:
        return None
    result = np.empty(shape, FLOAT)
    loop(result, g, out)
    return result


@fast(1)
def log_sum_exp(input: Any, dim: int) -> Any:
    shape = input.shape
    if dim not in (-1, len(shape) - 1):
        return None
    result = np.empty((*shape[:-1], 2), FLOAT)
    kernels.log_sum_exp(result, input)
    return result


# --- classification -----------------------------------------------------------------------------------------------

_LONG = np.dtype(np.int64)
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _suits(input: Any, log_sum: Any, target: Any, weight: Any) -> bool:
    """Whether kernels support the arguments: logits `(N, C)`, their log-sum-exp, int64 targets `(N,)`, and no class weights."""
    if weight is not None or input.ndim != 2 or target.dtype is not _LONG or target.shape != input.shape[:1]:
        return False
    return log_sum.dtype is FLOAT and log_sum.shape == (len(input), 2) and target.flags.c_contiguous


@fast(1)
def cross_entropy(
    input: Any, log_sum: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    if not _suits(input, log_sum, target, weight):
        return None
    result = np.empty(target.shape if reduction == "none" else (), FLOAT)
    kernels.cross_entropy(result, input, log_sum, target, _REDUCTIONS[reduction], ignore_index)
    return result


@fast(1, of=1)
def cross_entropy_backward(g: Any, input: Any, log_sum: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    shape = target.shape if reduction == "none" else ()
    if not _suits(input, log_sum, target, weight) or g.dtype is not FLOAT or g.shape != shape:
        return None
    grad_input = np.empty(input.shape, FLOAT)
    kernels.cross_entropy_backward(grad_input, input, log_sum, target, g, _REDUCTIONS[reduction], ignore_index)
    return grad_input


# --- variance -----------------------------------------------------------------------------------------------------

_WHOLE = 1 << 15  # longest row that the kernel supports: it computes each row in a single thread


@fast(1)
def var(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    return _variance(input, dim, correction, keepdim, False)


@fast(1)
def std(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    return _variance(input, dim, correction, keepdim, True)


def _variance(input: Any, dim: Any, correction: float, keepdim: bool, root: bool) -> Any:
    shape = input.shape
    last = len(shape) - 1
    if dim is None:
        length, reduced = input.size, (1,) * len(shape) if keepdim else ()
        if length > _WHOLE or not input.flags.c_contiguous:
            return None
        input = input.reshape(1, -1)
    elif dim in ((last,), last, (-1,), -1):
        length, reduced = shape[-1], (*shape[:-1], 1) if keepdim else shape[:-1]
        if length > _WHOLE:
            return None
    else:
        return None
    result = np.empty(reduced, FLOAT)
    kernels.variance(result, input, length - correction if length > correction else np.nan, root)
    return result


# --- layer normalization ------------------------------------------------------------------------------------------


def _normal_rows(input: Any, weight: Any, bias: Any, dims: Any) -> tuple[Any, Any, Any] | None:
    """Return the input as a matrix, and the weight and bias or their defaults; None if `dims` are not the last dimensions."""
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


@fast(1)
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
    if mean is not None:
        return None
    if len(dims) == 1:  # the usual case, without the cost of `_normal_rows`
        if dims[0] not in (-1, input.ndim - 1):
            return None
        length = input.shape[-1]
        rows = input
    else:
        arguments = _normal_rows(input, weight, bias, dims)
        if arguments is None:
            return None
        rows, length = arguments[0], arguments[0].shape[-1]
    for parameter in (weight, bias):
        if parameter is not None and (parameter.dtype is not FLOAT or parameter.size != length):
            return None
    output = np.empty(rows.shape, FLOAT)
    if workspace is None:
        means = scales = None
    else:
        workspace["row moments"] = means, scales = np.empty((2, input.size // length), FLOAT)
    kernels.layer_norm(output, means, scales, rows, weight, bias, eps)
    return output if rows is input else output.reshape(input.shape)


def layer_norm_backward(g: Any, input: Any, weight: Any, bias: Any, dims: Any, workspace: Any) -> Any:
    """Compute the gradients of `layer_norm` from moments saved by its forward; None if another kernel computed the forward."""
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


@fast(1)
def rms_norm_rows(input: Any, weight: Any, count: int, eps: float) -> Any:
    length = prod(input.shape[input.ndim - count :])
    if not is_dense(input) or not (weight is None or is_dense(weight)):
        return None
    result = np.empty(input.shape, FLOAT)
    kernels.rms_norm(result.reshape(-1, length), input.reshape(-1, length), weight, eps)
    return result
