"""Element-wise operations on large arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .choice import FLOAT, fast, fast_in_place, is_dense
from .lazy import Lazy

loops = Lazy("loops.elementwise")

ARITHMETIC = 1 << 16  # elements from which on two threads and no temporary array gain more than a call costs
FUNCTIONS = 1 << 13


def _flat(*arrays: Any) -> tuple[Any, ...] | None:
    """The arrays as vectors; None unless they are alike."""
    shape = arrays[0].shape
    if not is_dense(*arrays) or any(each.shape != shape for each in arrays):
        return None
    return tuple(each.reshape(-1) for each in arrays)


def _apply(loop: Callable[..., None], *arrays: Any) -> Any:
    """A new array that the loop fills; None where the arrays are not alike."""
    flat = _flat(*arrays)
    if flat is None:
        return None
    made = np.empty(arrays[0].shape, FLOAT)  # and not as a vector: a view of it would be copied where it is to be kept
    loop(made.reshape(-1), *flat)
    return made


# --- arithmetic ---------------------------------------------------------------------------------------------------


def _with_row(loop: Callable[..., None], input: Any, other: Any) -> Any:
    """The same for an array and one whose elements go with the last dimensions of the other."""
    length = other.size
    if length < 16 or not is_dense(input, other) or input.shape[input.ndim - other.ndim :] != other.shape:
        return None
    made = np.empty(input.shape, FLOAT)
    loop(made.reshape(-1, length), input.reshape(-1, length), other.reshape(-1))
    return made


@fast(ARITHMETIC)
def add(input: Any, other: Any) -> Any:
    if input.shape == other.shape:
        return _apply(loops.add, input, other)
    return _with_row(loops.add_row, input, other) if other.ndim else None


@fast(ARITHMETIC)
def mul(input: Any, other: Any) -> Any:
    if input.shape == other.shape:
        return _apply(loops.mul, input, other)
    return _with_row(loops.mul_row, input, other) if other.ndim else None


@fast(ARITHMETIC)
def sub(input: Any, other: Any) -> Any:
    return _apply(loops.sub, input, other)


@fast(ARITHMETIC)
def div(input: Any, other: Any) -> Any:
    return _apply(loops.div, input, other)


@fast(ARITHMETIC)
def sqrt(input: Any) -> Any:
    return _apply(loops.sqrt, input)


# --- functions and activations ------------------------------------------------------------------------------------


@fast(FUNCTIONS)
def exp(input: Any) -> Any:
    return _apply(loops.exp, input)


@fast(FUNCTIONS)
def tanh(input: Any) -> Any:
    return _apply(loops.tanh, input)


@fast(FUNCTIONS)
def sigmoid(input: Any) -> Any:
    return _apply(loops.sigmoid, input)


@fast(ARITHMETIC)
def relu(input: Any) -> Any:
    return _apply(loops.relu, input)


@fast(ARITHMETIC)
def masked(input: Any, mask: Any, of: Any = None) -> Any:
    if input.shape != mask.shape or mask.dtype != bool or not (input.flags.c_contiguous and mask.flags.c_contiguous):
        return None
    made = np.empty(input.shape, FLOAT)
    loops.masked(made.reshape(-1), input.reshape(-1), mask.reshape(-1))
    return made


@fast(FUNCTIONS)
def silu(input: Any) -> Any:
    return _apply(loops.silu, input)


@fast(FUNCTIONS)
def silu_backward(g: Any, input: Any) -> Any:
    return _apply(loops.silu_backward, g, input)


@fast(FUNCTIONS)
def gelu(input: Any) -> Any:
    return _apply(loops.gelu, input)


@fast(FUNCTIONS)
def gelu_backward(g: Any, input: Any) -> Any:
    return _apply(loops.gelu_backward, g, input)


@fast(FUNCTIONS)
def gelu_tanh(input: Any) -> Any:
    return _apply(loops.gelu_tanh, input)


@fast(FUNCTIONS)
def gelu_tanh_backward(g: Any, input: Any) -> Any:
    return _apply(loops.gelu_tanh_backward, g, input)


@fast(ARITHMETIC)
def leaky_relu(input: Any, negative_slope: float) -> Any:
    flat = _flat(input)
    if flat is None:
        return None
    made = np.empty(input.shape, FLOAT)
    loops.leaky_relu(made.reshape(-1), *flat, FLOAT.type(negative_slope))
    return made


# --- squared error ------------------------------------------------------------------------------------------------


@fast(FUNCTIONS)
def mse_loss(input: Any, target: Any, reduction: str) -> Any:
    flat = _flat(input, target)
    if flat is None or reduction == "none":
        return None
    total = loops.squared_error(*flat)
    return FLOAT.type(total / input.size if reduction == "mean" else total)


@fast(FUNCTIONS, of=1)
def mse_loss_backward(g: Any, input: Any, target: Any, reduction: str) -> Any:
    flat = _flat(input, target)
    if flat is None or g.ndim or g.dtype is not FLOAT:
        return None
    made = np.empty(input.shape, FLOAT)
    loops.squared_error_slope(made.reshape(-1), *flat, FLOAT.type(g * (2 / input.size if reduction == "mean" else 2)))
    return made


# --- in place -----------------------------------------------------------------------------------------------------


def _into(target: Any, *others: Any) -> tuple[Any, ...] | None:
    """The arrays as vectors, where none overlaps the target without being it: NumPy copies, loops do not."""
    flat = _flat(target, *others)
    if flat is None or any(np.may_share_memory(target, each) and each.ctypes.data != target.ctypes.data for each in others):
        return None
    return flat


def _scalar(value: Any) -> Any:
    """A 0-d array, or None for 1, as a number."""
    return FLOAT.type(1) if value is None else FLOAT.type(value)


@fast_in_place(ARITHMETIC)
def add_(target: Any, other: Any, alpha: Any = None) -> bool | None:
    flat = _into(target, other)
    if flat is None:
        return None
    if alpha is None:
        loops.add(flat[0], *flat)
    else:
        loops.add_scaled(flat[0], *flat, _scalar(alpha))
    return True


@fast_in_place(ARITHMETIC)
def mul_(target: Any, other: Any) -> bool | None:
    if other.ndim or not is_dense(target, other):
        return None
    flat = target.reshape(-1)
    loops.scale(flat, flat, _scalar(other))
    return True


@fast_in_place(ARITHMETIC)
def lerp_(target: Any, end: Any, weight: Any) -> bool | None:
    flat = _into(target, end)
    if flat is None or weight.ndim or not abs(weight) < 0.5:
        return None
    loops.lerp_(*flat, _scalar(weight))
    return True


@fast_in_place(ARITHMETIC)
def addcmul_(target: Any, first: Any, second: Any, value: Any = None) -> bool | None:
    flat = _into(target, first, second)
    if flat is None:
        return None
    loops.addcmul_(*flat, _scalar(value))
    return True


@fast_in_place(ARITHMETIC)
def addcdiv_(target: Any, first: Any, second: Any, value: Any = None) -> bool | None:
    flat = _into(target, first, second)
    if flat is None:
        return None
    loops.addcdiv_(*flat, _scalar(value))
    return True
