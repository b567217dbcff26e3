"""Softmax, losses of classes and layer normalization: what is computed row by row."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .lazy import Lazy

loops = Lazy("loops.rows")

LEAST = 1 << 12
STRIPS = 16  # of rows whose gradients are summed apart, whatever the number of threads: so results do not depend on it


def _rows(dim: int, *arrays: Any) -> list[Any] | None:
    """The arrays as matrices, where `dim` is the last."""
    if dim not in (-1, arrays[0].ndim - 1) or not is_dense(*arrays) or len({each.shape for each in arrays}) > 1:
        return None
    return [each.reshape(-1, each.shape[-1]) for each in arrays]


def _by_rows(loop: Any, dim: int, *arrays: Any) -> Any:
    rows = _rows(dim, *arrays)
    if rows is None:
        return None
    made = np.empty(arrays[0].shape, FLOAT)
    loop(made.reshape(rows[0].shape), *rows)
    return made


# --- softmax ------------------------------------------------------------------------------------------------------


@fast(LEAST)
def softmax(input: Any, dim: int) -> Any:
    return _by_rows(loops.softmax, dim, input)


@fast(LEAST)
def log_softmax(input: Any, dim: int) -> Any:
    return _by_rows(loops.log_softmax, dim, input)


@fast(LEAST)
def softmax_backward(g: Any, out: Any, dim: int) -> Any:
    return _by_rows(loops.softmax_backward, dim, g, out)


@fast(LEAST)
def log_softmax_backward(g: Any, out: Any, dim: int) -> Any:
    return _by_rows(loops.log_softmax_backward, dim, g, out)


@fast(LEAST)
def log_sum_exp(input: Any, dim: int) -> Any:
    rows = _rows(dim, input)
    if rows is None:
        return None
    made = np.empty((*input.shape[:-1], 2), FLOAT)
    loops.log_sum_exp(made.reshape(-1, 2), *rows)
    return made


@fast(LEAST, of=1)
def cross_entropy_backward(g: Any, input: Any, log_sum: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    if input.ndim != 2 or weight is not None or not is_dense(input) or g.dtype is not FLOAT:
        return None
    classes = np.ascontiguousarray(target, np.int64)
    if classes.min() < 0 or classes.max() >= input.shape[1]:  # to be ignored, or an error
        return None
    slope = g / FLOAT.type(len(classes)) if reduction == "mean" else g
    made = np.empty(input.shape, FLOAT)
    slopes = np.full(len(classes), slope, FLOAT) if slope.ndim == 0 else np.ascontiguousarray(slope)
    shifts, rests = np.ascontiguousarray(log_sum.T, FLOAT)
    loops.cross_entropy_backward(made, input, shifts, rests, classes, slopes)
    return made


# --- layer normalization ------------------------------------------------------------------------------------------


def _normal_rows(input: Any, weight: Any, bias: Any, dims: Any) -> tuple[Any, Any, Any] | None:
    """The input as a matrix, and weight and bias, or what stands for them; None unless the last dimensions are normalized."""
    count = len(dims)
    length = prod(input.shape[input.ndim - count :])
    if tuple(dims) not in (tuple(range(-count, 0)), tuple(range(input.ndim - count, input.ndim))) or not is_dense(input):
        return None
    made = []
    for each, value in ((weight, 1), (bias, 0)):
        if each is None:
            each = np.full(length, value, FLOAT)
        elif each.size != length or each.ndim > count or not is_dense(each):
            return None
        made.append(each.reshape(-1))
    return input.reshape(-1, length), *made


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
    found = _normal_rows(input, weight, bias, dims)
    if found is None or mean is not None:
        return None
    rows, weight, bias = found
    made, moments = np.empty(input.shape, FLOAT), np.empty((2, len(rows)), FLOAT)
    loops.layer_norm(made.reshape(rows.shape), *moments, rows, weight, bias, FLOAT.type(eps))
    if workspace is not None:
        workspace["row moments"] = moments
    return made


def layer_norm_backward(g: Any, input: Any, weight: Any, bias: Any, dims: Any, workspace: Any) -> Any:
    """The part of `norm_backward` that is of `layer_norm` here, with the moments that it kept; None if it is not."""
    moments = workspace.get("row moments") if workspace else None
    found = None if moments is None or not is_dense(g) else _normal_rows(input, weight, None, dims)
    if found is None:
        return None
    rows, weights, _ = found
    made, slopes = np.empty(input.shape, FLOAT), np.zeros((2, STRIPS, rows.shape[1]), FLOAT)
    loops.layer_norm_backward(made.reshape(rows.shape), *slopes, g.reshape(rows.shape), rows, *moments, weights)
    of_weight, of_bias = slopes.sum(1)
    return (
        made,
        None if weight is None else of_weight.reshape(weight.shape),
        None if bias is None else of_bias.reshape(bias.shape),
    )
