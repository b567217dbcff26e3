"""Elementwise functions of one array, or of two arrays that broadcast."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from math import nan
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..engine.values.dtypes import COMPLEX, FLOATING
from .data_types import promote_dtypes, promote_with_scalar

__all__ = [
    "clip", "expm1", "floor_divide", "imag", "isfinite", "isinf", "isnan", "real", "round", "sign", "tanh", "where",
    *[  # the end of the module generates these from PyTorch's functions
        "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
        "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "conj", "copysign", "cos", "cosh",
        "divide", "equal", "exp", "floor", "greater", "greater_equal", "hypot", "less", "less_equal", "log", "log1p", "log2",
        "log10", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply",
        "negative", "nextafter", "not_equal", "positive", "pow", "reciprocal", "remainder", "signbit", "sin", "sinh", "sqrt",
        "square", "subtract", "tan", "trunc",
    ],
]  # fmt: skip
_TORCH_NAMES = {"bitwise_invert": "bitwise_not", "conj": "conj_physical", "equal": "eq"}  # {name in the standard: in PyTorch}


def promote_operands(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Convert two operands to tensors of their promoted dtype; one of them may be a Python scalar.

    0-d tensors take part in promotion like tensors with dimensions.
    """
    if not isinstance(x1, Tensor):
        second, first = promote_operands(x2, x1)
        return first, second
    if not isinstance(x2, Tensor):
        common = promote_with_scalar(x1.dtype, x2)
        return x1.to(common), torch.asarray(x2, dtype=common, device=x1.device)
    if x1.dtype is x2.dtype:
        return x1, x2
    common = promote_dtypes(x1.dtype, x2.dtype)
    return x1.to(common), x2.to(common)


def _unary(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def wrapper(x: Tensor, /) -> Tensor:
        return function(x)

    return _copy_name_and_doc(wrapper, name, function)


def _binary(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def wrapper(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
        return function(*promote_operands(x1, x2))

    return _copy_name_and_doc(wrapper, name, function)


def _copy_name_and_doc(wrapper: Any, name: str, function: Callable[..., Any]) -> Callable[..., Tensor]:
    wrapper.__name__ = wrapper.__qualname__ = name
    wrapper.__doc__ = function.__doc__
    return wrapper  # type: ignore[no-any-return]


def _constant_for_integers(value: bool, function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def wrapper(x: Tensor, /) -> Tensor:
        if x.dtype.category < FLOATING:
            return torch.full(x.shape, value, dtype=torch.bool, device=x.device)
        return function(x)

    return _copy_name_and_doc(wrapper, function.__name__, function)


isfinite: Callable[[Tensor], Tensor] = _constant_for_integers(True, torch.isfinite)
isinf: Callable[[Tensor], Tensor] = _constant_for_integers(False, torch.isinf)
isnan: Callable[[Tensor], Tensor] = _constant_for_integers(False, torch.isnan)


def expm1(x: Tensor, /) -> Tensor:
    """Compute `exp(x) - 1`, accurate near 0; for non-finite complex numbers from `exp(x)`, as PyTorch returns NaN for them."""
    result = torch.expm1(x)
    if x.dtype.category < COMPLEX:
        return result
    result = torch.where(torch.isfinite(x), result, torch.exp(x) - 1)
    return torch.complex(result.real + 0.0, result.imag)  # the standard requires 0 instead of -0 as real part


def tanh(x: Tensor, /) -> Tensor:
    """Compute the hyperbolic tangent.

    For a complex number with infinite real part, the result is 1 or -1 with a signed zero as imaginary part.
    """
    result = torch.tanh(x)
    if x.dtype.category < COMPLEX:
        return result
    limit = torch.complex(torch.sign(x.real), torch.copysign(torch.zeros_like(x.imag), x.imag))
    return torch.where(torch.isinf(x.real), limit, result)


def floor_divide(x1: Tensor | float, x2: Tensor | float, /) -> Tensor:
    """Return the quotient rounded down; if an operand is infinite, the truncated quotient, where PyTorch returns NaN."""
    x1, x2 = promote_operands(x1, x2)
    quotient = torch.floor_divide(x1, x2)
    if quotient.dtype.category < FLOATING:
        return quotient
    return torch.where(torch.isinf(x1) | torch.isinf(x2), torch.trunc(torch.divide(x1, x2)), quotient)


def round(x: Tensor, /) -> Tensor:
    """Round to the nearest integer, ties to even; round the real and imaginary parts of a complex number."""
    if x.dtype.category == COMPLEX:
        return torch.complex(torch.round(x.real), torch.round(x.imag))
    return torch.round(x)


def sign(x: Tensor, /) -> Tensor:
    """Return -1, 0 or 1 (NaN for NaN); for a complex number `x / abs(x)`, with both parts NaN if one of them is."""
    result = torch.sgn(x)
    if x.dtype.category < FLOATING:
        return result
    return torch.where(torch.isnan(x), complex(nan, nan) if x.dtype.category == COMPLEX else nan, result)


def real(x: Tensor, /) -> Tensor:
    """Return the real part."""
    return torch.real(x)


def imag(x: Tensor, /) -> Tensor:
    """Return the imaginary part; zeros for a real array."""
    return torch.imag(x) if x.dtype.category == COMPLEX else torch.zeros_like(x)


def clip(x: Tensor, /, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    """Clamp the elements to the range from `min` to `max`, keeping the dtype of `x`."""
    if min is not None:
        x = torch.maximum(*_with_bound(x, min))
    if max is not None:
        x = torch.minimum(*_with_bound(x, max))
    return x if min is not None or max is not None else x.clone()


def _with_bound(x: Tensor, bound: Any) -> tuple[Tensor, Tensor]:
    return (x, bound.to(x.dtype)) if isinstance(bound, Tensor) else (x, torch.asarray(bound, dtype=x.dtype, device=x.device))


def where(condition: Tensor, x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """Return the elements of `x1` where the condition is true, and of `x2` elsewhere."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        x1 = torch.asarray(x1, device=condition.device)
    result: Tensor = torch.where(condition, *promote_operands(x1, x2))
    return result


for _name in __all__:
    if _name not in globals():
        _function = getattr(torch, _TORCH_NAMES.get(_name, _name))
        _operands = [each for each in signature(_function).parameters.values() if each.default is each.empty]
        _make = _binary if len(_operands) == 2 else _unary
        globals()[_name] = _make(_name, _function)
