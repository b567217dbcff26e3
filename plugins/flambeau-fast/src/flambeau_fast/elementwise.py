"""Elementwise operations on large arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .choice import FLOAT, fast, fast_in_place, is_dense
from .kernels import kernels

ARITHMETIC = 1 << 16  # minimum number of elements: enough for threads to outweigh the call overhead
FUNCTIONS = 1 << 13
RECTIFIED = 1 << 6
STRIP = 1 << 14  # number of elements per partial sum


def _flat(*arrays: Any) -> tuple[Any, ...] | None:
    """Return the arrays flattened, or None unless all are dense and have the same shape."""
    shape = arrays[0].shape
    if not is_dense(*arrays) or any(array.shape != shape for array in arrays):
        return None
    return tuple(array.reshape(-1) for array in arrays)


def _apply(loop: Callable[..., None], *arrays: Any) -> Any:
    """Return a new array that `loop` computes from the arrays, or None unless all are dense and have the same shape."""
    shape = arrays[0].shape
    if not is_dense(*arrays) or any(array.shape != shape for array in arrays):
        return None
    result = np.empty(shape, FLOAT)
    loop(result, *arrays)
    return result


# --- arithmetic ---------------------------------------------------------------------------------------------------


def _with_row(loop: Callable[..., None], input: Any, other: Any) -> Any:
    """Like `_apply`, for an `other` that is broadcast along the leading dimensions of `input`."""
    length = other.size
    if length < 16 or not is_dense(input, other) or input.shape[input.ndim - other.ndim :] != other.shape:
        return None
    result = np.empty(input.shape, FLOAT)
    loop(result.reshape(-1, length), input.reshape(-1, length), other.reshape(-1))
    return result


@fast(ARITHMETIC)
def add(input: Any, other: Any) -> Any:
    if input.shape == other.shape:
        return _apply(kernels.add, input, other)
    return _with_row(kernels.add_row, input, other) if other.ndim else None


@fast(ARITHMETIC)
def mul(input: Any, other: Any) -> Any:
    if input.shape == other.shape:
        return _apply(kernels.mul, input, other)
    return _with_row(kernels.mul_row, input, other) if other.ndim else None


@fast(ARITHMETIC)
def sub(input: Any, other: Any) -> Any:
    return _apply(kernels.sub, input, other)


@fast(ARITHMETIC)
def div(input: Any, other: Any) -> Any:
    return _apply(kernels.div, input, other)


@fast(ARITHMETIC)
def sqrt(input: Any) -> Any:
    return _apply(kernels.sqrt, input)


# --- functions and activations ------------------------------------------------------------------------------------


@fast(FUNCTIONS)
def exp(input: Any) -> Any:
    return _apply(kernels.exp, input)


@fast(FUNCTIONS)
def tanh(input: Any) -> Any:
    return _apply(kernels.tanh, input)


@fast(FUNCTIONS)
def sigmoid(input: Any) -> Any:
    return _apply(kernels.sigmoid, input)


@fast(RECTIFIED)
def relu(input: Any) -> Any:
    result = np.empty(input.shape, FLOAT)
    kernels.relu(result, input)
    return result


@fast(RECTIFIED)
def hardswish(input: Any) -> Any:
    result = np.empty(input.shape, FLOAT)
    kernels.hardswish(result, input)
    return result


@fast(RECTIFIED)
def hardsigmoid(input: Any) -> Any:
    result = np.empty(input.shape, FLOAT)
    kernels.hardsigmoid(result, input)
    return result


@fast(RECTIFIED)
def relu_backward(g: Any, out: Any) -> Any:
    if out.shape != g.shape or out.dtype is not FLOAT:
        return None
    result = np.empty(g.shape, FLOAT)
    kernels.relu_backward(result, g, out)
    return result


@fast(ARITHMETIC)
def masked(input: Any, mask: Any, of: Any = None) -> Any:
    if input.shape != mask.shape or mask.dtype != bool or not (input.flags.c_contiguous and mask.flags.c_contiguous):
        return None
    result = np.empty(input.shape, FLOAT)
    kernels.masked(result.reshape(-1), input.reshape(-1), mask.reshape(-1))
    return result


@fast(FUNCTIONS)
def silu(input: Any) -> Any:
    return _apply(kernels.silu, input)


@fast(FUNCTIONS)
def silu_backward(g: Any, input: Any) -> Any:
    return _apply(kernels.silu_backward, g, input)


@fast(FUNCTIONS)
def gelu(input: Any) -> Any:
    return _apply(kernels.gelu, input)


@fast(FUNCTIONS)
def gelu_backward(g: Any, input: Any) -> Any:
    return _apply(kernels.gelu_backward, g, input)


@fast(FUNCTIONS)
def gelu_tanh(input: Any) -> Any:
    return _apply(kernels.gelu_tanh, input)


@fast(FUNCTIONS)
def gelu_tanh_backward(g: Any, input: Any) -> Any:
    return _apply(kernels.gelu_tanh_backward, g, input)


@fast(ARITHMETIC)
def leaky_relu(input: Any, negative_slope: float) -> Any:
    flat = _flat(input)
    if flat is None:
        return None
    result = np.empty(input.shape, FLOAT)
    kernels.leaky_relu(result.reshape(-1), *flat, FLOAT.type(negative_slope))
    return result


# --- squared error ------------------------------------------------------------------------------------------------


@fast(FUNCTIONS)
def mse_loss(input: Any, target: Any, reduction: str) -> Any:
    flat = _flat(input, target)
    if flat is None or reduction == "none":
        return None
    strips = np.empty(-(-input.size // STRIP))
    kernels.squared_error(strips, *flat)
    total = strips.sum()
    return FLOAT.type(total / input.size if reduction == "mean" else total)


@fast(FUNCTIONS, of=1)
def mse_loss_backward(g: Any, input: Any, target: Any, reduction: str) -> Any:
    flat = _flat(input, target)
    if flat is None or g.ndim or g.dtype is not FLOAT:
        return None
    result = np.empty(input.shape, FLOAT)
    kernels.squared_error_gradient(result.reshape(-1), *flat, FLOAT.type(g * (2 / input.size if reduction == "mean" else 2)))
    return result


# --- in place -----------------------------------------------------------------------------------------------------


def _into(target: Any, *others: Any) -> tuple[Any, ...] | None:
    """Return the arrays flattened, or None if one partly overlaps the target, since loops, unlike NumPy, do not copy it."""
    flat = _flat(target, *others)
    if flat is None or not target.flags.writeable:
        return None
    if any(np.may_share_memory(target, array) and array.ctypes.data != target.ctypes.data for array in others):
        return None
    return flat


def _scalar(value: Any) -> Any:
    """Convert a number or 0-d array to a float32 number; None, an omitted factor, becomes 1."""
    return FLOAT.type(1) if value is None else FLOAT.type(value)


@fast_in_place(ARITHMETIC)
def add_(target: Any, other: Any, alpha: Any = None) -> bool | None:
    flat = _into(target, other)
    if flat is None:
        return None
    if alpha is None:
        kernels.add(flat[0], *flat)
    else:
        kernels.add_scaled(flat[0], *flat, _scalar(alpha))
    return True


@fast_in_place(ARITHMETIC)
def mul_(target: Any, other: Any) -> bool | None:
    if other.ndim or not is_dense(target, other) or not target.flags.writeable:
        return None
    flat = target.reshape(-1)
    kernels.scale(flat, flat, _scalar(other))
    return True


@fast_in_place(ARITHMETIC)
def lerp_(target: Any, end: Any, weight: Any) -> bool | None:
    flat = _into(target, end)
    if flat is None or weight.ndim or not abs(weight) < 0.5:
        return None
    kernels.lerp_(*flat, _scalar(weight))
    return True


@fast_in_place(ARITHMETIC)
def addcmul_(target: Any, first: Any, second: Any, value: Any = None) -> bool | None:
    flat = _into(target, first, second)
    if flat is None:
        return None
    kernels.addcmul_(*flat, _scalar(value))
    return True


@fast_in_place(ARITHMETIC)
def addcdiv_(target: Any, first: Any, second: Any, value: Any = None) -> bool | None:
    flat = _into(target, first, second)
    if flat is None:
        return None
    kernels.addcdiv_(*flat, _scalar(value))
    return True
