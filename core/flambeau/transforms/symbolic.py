"""`torch.sym_int` and related functions: Python's functions of numbers, also for symbolic numbers.

`int(n)` of a `SymInt` needs a plain number, which would fix the program to one value.  These functions are recorded instead.
"""

from __future__ import annotations

import functools
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

from ..engine.calls.arguments import as_number
from ..engine.calls.overriding import handle_torch_function, has_torch_function
from ..engine.values import dtypes
from ..engine.values.symbols import SymFloat, SymInt, is_symbolic, plain

__all__ = [
    "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size", "sym_int", "sym_ite", "sym_max",
    "sym_min", "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip

_UNCHANGED_BY = {"sym_float": SymFloat, "sym_int": SymInt}


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of numbers: calls with symbolic arguments are recorded; `__torch_function__` may override it."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if args and type(args[0]) is _UNCHANGED_BY.get(function.__name__):
            return args[0]
        symbol = next(filter(is_symbolic, args), None)
        if symbol is not None:
            return symbol.recorder.computed(call, args, function(*map(plain, args)))
        if has_torch_function(args):
            return handle_torch_function(call, args, *args)
        return function(*args)

    call.__dict__["__body__"] = function  # overridable functions store their implementation here
    return call


@_recorded
def sym_not(a: Any) -> Any:
    """Return `not a`, which is a `SymBool` for a `SymBool`.

    Args:
        a: a bool or a `SymBool`.

    Example:
        >>> torch.sym_not(True)
        False
    """
    return not a


@_recorded
def sym_float(a: Any) -> Any:
    """Return `float(a)`, which is a `SymFloat` for a symbolic number.

    Args:
        a: a number, or another argument of `float`.

    Example:
        >>> torch.sym_float(3)
        3.0
    """
    return float(a)


@_recorded
def sym_int(a: Any) -> Any:
    """Return `int(a)`, which is a `SymInt` for a symbolic number.

    Args:
        a: a number, or another argument of `int`.

    Example:
        >>> torch.sym_int(3.7)
        3
    """
    return int(a)


@_recorded
def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, without a branch on symbolic numbers; a float if either is a float.

    Args:
        a: a number.
        b: another number.

    Raises:
        AssertionError: an argument is not a number.

    Example:
        >>> torch.sym_max(5, 4.0)
        5.0
    """
    return _as_wide(max, a, b)


@_recorded
def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of the numbers `a` and `b`, without a branch on symbolic numbers; a float if either is a float.

    Args:
        a: a number.
        b: another number.

    Raises:
        AssertionError: an argument is not a number.

    Example:
        >>> torch.sym_min(5, 4.0)
        4.0
    """
    return _as_wide(min, a, b)


def sym_sum(*args: Any) -> Any:
    """Return the sum of numbers, which may be symbolic.

    Args:
        args: the numbers, or one list or tuple of them.

    Example:
        >>> torch.sym_sum([1, 2, 3])
        6
    """
    terms = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    # Numbers are not offered to overrides, not even symbolic ones: their `__torch_function__` computes with plain numbers.
    if not all(isinstance(term, (int, float)) or is_symbolic(term) for term in terms) and has_torch_function(terms):
        return handle_torch_function(sym_sum, terms, *args)
    return functools.reduce(operator.add, terms, 0)


sym_sum.__dict__["__body__"] = sym_sum


@_recorded
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return `t if b else f`, without a branch on a symbolic `b`.

    Args:
        b: a bool or a `SymBool`.
        t: a number.
        f: another number of the same type.

    Raises:
        AssertionError: `b` is not a bool, or `t` and `f` have different types.

    Example:
        >>> torch.sym_ite(True, 1, 2)
        1
    """
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


@_recorded
def sym_sqrt(a: Any) -> Any:
    """Return `math.sqrt(a)`, which is a `SymFloat` for a symbolic number.

    Args:
        a: a number.

    Example:
        >>> torch.sym_sqrt(9)
        3.0
    """
    return math.sqrt(a)


def _recorded_function_of_math(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(a: Any) -> Any:
        return compute(a)

    name = compute.__name__
    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"Return `math.{name}(a)`, which is a `SymFloat` for a symbolic number."
    return _recorded(function)


_sym_acos, _sym_asin, _sym_atan, _sym_cos, _sym_cosh, _sym_log2, _sym_sin, _sym_sinh, _sym_tan, _sym_tanh = map(
    _recorded_function_of_math,
    (math.acos, math.asin, math.atan, math.cos, math.cosh, math.log2, math.sin, math.sinh, math.tan, math.tanh),
)
_sym_sqrt = sym_sqrt


def sym_fresh_size(expr: Any) -> Any:
    """Return a number whose value is only known when the program runs: `torch.tensor(expr).item()`.

    Args:
        expr: a number.

    Example:
        >>> torch.sym_fresh_size(3)
        3
    """
    from ..operations.creation.from_data import tensor

    return tensor(expr).item()


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Declare the range of a number; a recorded number must be in it for the example inputs.

    Args:
        size: the number, rounded towards 0.
        min: the smallest value, or None.
        max: the largest value, or None.

    Raises:
        RuntimeError: the number is out of range, or `min` exceeds `max`.
        TypeError: `size` is not a number.
    Example:
        >>> torch.sym_constrain_range(3, min=1, max=5)
    """
    _check_range("sym_constrain_range", size, min, max)


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Declare the range of a number that is the size of a tensor: it is not negative, and can be more than 2.

    Args:
        size: the number, rounded towards 0.
        min: the smallest value; None for 0.
        max: the largest value, or None.

    Raises:
        RuntimeError: the number is out of range, `min` exceeds `max`, or `max` is 2 or less.
        TypeError: `size` is not a number.

    Example:
        >>> torch.sym_constrain_range_for_size(3, max=5)
    """
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    _check_range("sym_constrain_range_for_size", size, 0 if min is None else min, max)


def _constrain_as_size(symbol: Any, min: int | None = None, max: int | None = None) -> None:
    """Call `sym_constrain_range_for_size` with positional limits."""
    sym_constrain_range_for_size(symbol, min=min, max=max)


def _check_range(function: str, size: Any, smallest: int | None, largest: int | None) -> None:
    limits = dtypes.iinfo(dtypes.int64)
    smallest, largest = limits.min if smallest is None else smallest, limits.max if largest is None else largest
    number = plain(as_number(function, "size", size))
    if isinstance(number, complex):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    if not isinstance(number, numbers.Real):
        raise TypeError(f"{function}(): argument 'size' (position 1) must be Number, not {type(size).__name__}")
    if largest < smallest:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={smallest} max={largest}")
    whole: Any = math.trunc(number)
    if not smallest <= whole <= largest:
        raise RuntimeError(f"Invalid value range for {whole} between [{smallest}, {largest}].")


def _as_wide(choose: Callable[..., Any], *given: Any) -> Any:
    for number in given:
        if not isinstance(number, numbers.Real):
            raise AssertionError(f"expected an integer or a floating-point number, got {type(number)}")
    return choose(given) if all(isinstance(number, numbers.Integral) for number in given) else float(choose(given))
