"""Faster functions in place of kernels, for the fixed shapes and dtypes of programs that `torch.compile` records.

A recorded program calls each kernel with the same shapes repeatedly.  Decisions that depend on the shapes are made once, and the
program calls the selected function.  It runs entirely inside `without_warnings`, so these functions need not be wrapped.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .chunks import select
from .kernels import KERNELS, add_, linear, masked, mm, relu, sub_
from .sums import column_sums
from .threads import LARGE, SMALL_PRODUCT

__all__ = ["specialize"]

Kernel = Callable[..., Any]

_SMALL = 1 << 16  # number of elements above which call overhead is negligible
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_COMPARISONS = {
    (np.equal, operator.eq): np.equal, (np.not_equal, operator.ne): np.not_equal, (np.less, operator.lt): np.less,
    (np.less_equal, operator.le): np.less_equal, (np.greater, operator.gt): np.greater,
    (np.greater_equal, operator.ge): np.greater_equal,
}  # fmt: skip


def specialize(kernel: Kernel, args: tuple[Any, ...]) -> Kernel | None:
    """Return a function that is faster than the kernel for such arguments, or None.

    Args:
        kernel: a kernel, or a function of NumPy.
        args: its positional arguments, with an `ArrayKind` in place of each array.
    """
    specialize = _SPECIALIZATIONS.get(kernel) or getattr(kernel, "specialize", None)
    return None if specialize is None else specialize(*args)


def _in_place(ufunc: np.ufunc) -> Callable[..., Kernel | None]:
    def choose(target: Any, other: Any) -> Kernel | None:
        if target.size >= _SMALL or target.dtype not in _FLOATS or target.dtype != getattr(other, "dtype", None):
            return None

        def update(target: Any, other: Any, alpha: Any = None) -> None:
            ufunc(target, other if alpha is None else np.multiply(other, alpha), target)

        return update

    return choose


def _relu(input: Any) -> Kernel | None:
    zero = np.zeros((), input.dtype)
    return (lambda input: np.maximum(input, zero)) if input.size < min(_SMALL, LARGE) else None


def _linear(bias: Any, input: Any, weight: Any) -> Kernel | None:
    if len(input.shape) != 2 or input.size * weight.shape[0] > SMALL_PRODUCT or weight.shape[1] >= 8 * input.shape[0]:
        return None
    if bias.dtype != input.dtype or bias.dtype not in _FLOATS or len(bias.shape) > 1:
        return None

    def product_and_sum(bias: Any, input: Any, weight: Any) -> Any:
        output = input.dot(weight.T)
        return np.add(output, bias, output)

    return product_and_sum


def _mm(input: Any, mat2: Any) -> Kernel | None:
    small = len(input.shape) == 2 and input.size * mat2.shape[1] <= SMALL_PRODUCT
    return np.ndarray.dot if small else None


def _masked(input: Any, mask: Any, of: Any = None) -> Kernel | None:
    small = input.size < min(_SMALL, LARGE)
    return (lambda input, mask, of=None: select(mask, input)) if small else None


def _sum(input: Any, dim: Any = None, keepdim: bool = False) -> Kernel | None:
    if dim != (0,) or len(input.shape) != 2 or keepdim or input.dtype not in _FLOATS or input.size >= _SMALL:
        return None
    return lambda input, dim, keepdim=False: column_sums(input)


def _comparison(ufunc: np.ufunc) -> Callable[..., Kernel | None]:
    def choose(input: Any, other: Any) -> Kernel | None:
        if type(other) not in (int, float) or getattr(input, "dtype", None) not in _FLOATS or input.size >= _SMALL:
            return None
        number = np.asarray(other, input.dtype)  # an array is faster than a Python number
        return (lambda input, other: ufunc(input, number)) if number == other else None

    return choose


_SPECIALIZATIONS: dict[Any, Callable[..., Kernel | None]] = {
    add_: _in_place(np.add), sub_: _in_place(np.subtract), relu: _relu, linear: _linear, mm: _mm, masked: _masked,
    KERNELS["sum"]: _sum, **{function: _comparison(ufunc) for functions, ufunc in _COMPARISONS.items() for function in functions},
}  # fmt: skip
