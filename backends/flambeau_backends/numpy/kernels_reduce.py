"""Reductions by NumPy's ufuncs, without the Python overhead of `np.max` etc., and the gradient of products.

Results are row-major.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.operations.reductions import axis_of

from .error_state import without_warnings
from .kernels import KERNELS, kernel
from .layout import in_rows

__all__: list[str] = []


def _extreme(name: str, ufunc: np.ufunc) -> None:
    def extreme(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
        return in_rows(ufunc.reduce(input, axis_of(dim, input), None, None, keepdim))

    KERNELS[name] = extreme


def _truth(name: str, ufunc: np.ufunc) -> None:
    def truth(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        holds = input if input.dtype == np.bool else input != 0
        return in_rows(ufunc.reduce(holds, axis_of(dim, input), None, None, keepdim))

    KERNELS[name] = truth


_extreme("amax", np.maximum)
_extreme("amin", np.minimum)
_truth("all", np.logical_and)
_truth("any", np.logical_or)


@kernel
def aminmax(input: Any, dim: Any = (), keepdim: bool = False) -> tuple[Any, Any]:
    return KERNELS["amin"](input, dim, keepdim), KERNELS["amax"](input, dim, keepdim)


# --- the gradient of products -------------------------------------------------------------------------------------


def _others(rows: Any) -> Any:
    """Return for each element the product of the others in its row; NaN stays NaN in rows without zeros, as in PyTorch."""
    result = np.ones_like(rows)
    np.multiply.accumulate(rows[:, :-1], 1, None, result[:, 1:])
    behind = np.multiply.accumulate(rows[:, :0:-1], 1)
    result[:, :-1] *= behind[:, ::-1]
    lost = np.isnan(rows) & (rows != 0).all(1, keepdims=True)
    result[lost] = rows[lost]
    return result


@kernel
@without_warnings
def prod_backward(g: Any, input: Any, out: Any, input_shape: Any, dim: Any, keepdim: bool) -> Any:
    """Compute the gradient of a product as `product / element`, as in PyTorch.

    If the product is 0, infinite, NaN or subnormal, cumulative products are used instead of the division.
    """
    if not input.ndim:
        return g
    if dim is None:
        input, dim = input.reshape(-1), 0
        g, out = g.reshape(1), out.reshape(1)
    elif not keepdim:
        g, out = np.expand_dims(g, dim), np.expand_dims(out, dim)
    gradient = np.divide(out, input)
    np.multiply(np.conj(gradient, gradient) if gradient.dtype.kind == "c" else gradient, g, gradient)
    size = np.abs(out)
    inexact = ~((size >= np.finfo(size.dtype).tiny) & (size < np.inf))
    if inexact.any():
        lines, wrong = np.moveaxis(gradient, dim, -1), np.moveaxis(inexact, dim, -1)[..., 0]
        lines[wrong] = np.conj(_others(np.moveaxis(input, dim, -1)[wrong])) * np.moveaxis(g, dim, -1)[wrong]
    return gradient.reshape(input_shape)
