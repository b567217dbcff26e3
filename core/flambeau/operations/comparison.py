"""Comparisons, choices between tensors, logic and bits."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..engine.calls.codegen import NAMESPACE
from ..engine.calls.dispatch import refusing, require_data, require_operands, require_tensors, result_dtype
from ..engine.calls.facts import Kind, Narrow, declare
from ..engine.calls.op import composite, op
from ..engine.calls.record import Out
from ..engine.calls.wrappers import as_method
from ..engine.devices.devices import DispatchKey
from ..engine.devices.warning import warn_once
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from ..engine.values.scalars import LARGEST_SINGLE, converted


def _compare(name: str, forward: Any, symbol: str, *aliases: str, accepts: str = "real") -> Callable[..., Tensor]:
    example = ", ".join(f"{getattr(operator, name)(number, 2)!s:>5}" for number in (1, 2, 3))
    return op(
        name,
        forward,
        kind=Kind.POINTWISE,
        rounds_once=True,
        narrow=Narrow.ALL if name in ("eq", "ne") else Narrow.NONE,
        promote="compare",
        scalars=("other",),
        dtypes=accepts,
        inplace=True,
        aliases=aliases,
        dunders=(f"__{name}__",),
        doc=f"""Return `input {symbol} other`, element by element, as a bool tensor.

        Args:
            input: a tensor{"" if accepts == "all" else " of a real dtype"}.
            other: a tensor that can be broadcast with `input`, or a number.
            out: a tensor that the result is written to.

        >>> torch.{name}(torch.tensor([1, 2, 3]), 2)
        tensor([{example}])
        """,
        schema=(f"{name}.Scalar(Tensor self, Scalar other) -> Tensor", f"{name}.Tensor(Tensor self, Tensor other) -> Tensor"),
    )


def _ordered(xp: Any, array: Any) -> Any:
    """Convert booleans to uint8: the array API standard defines no order for them."""
    return xp.astype(array, xp.uint8) if xp.isdtype(array.dtype, "bool") else array


eq = _compare("eq", lambda xp, input, other: xp.equal(input, other), "==", accepts="all")
ne = _compare("ne", lambda xp, input, other: xp.not_equal(input, other), "!=", "not_equal", accepts="all")
lt = _compare("lt", lambda xp, input, other: xp.less(_ordered(xp, input), _ordered(xp, other)), "<", "less")
le = _compare("le", lambda xp, input, other: xp.less_equal(_ordered(xp, input), _ordered(xp, other)), "<=", "less_equal")
gt = _compare("gt", lambda xp, input, other: xp.greater(_ordered(xp, input), _ordered(xp, other)), ">", "greater")
ge = _compare("ge", lambda xp, input, other: xp.greater_equal(_ordered(xp, input), _ordered(xp, other)), ">=", "greater_equal")


def equals_array(input: Tensor, other: Any) -> Any:
    """Return `input == other` for another library's array.  NumPy leaves only `==`, no other comparison, to the tensor."""
    if not hasattr(other, "__array_interface__"):
        return NotImplemented
    from .creation.from_data import as_tensor

    return eq(input, as_tensor(other, device=input.device))


NAMESPACE["equals_array"] = equals_array

# --- maximum, minimum, where --------------------------------------------------------------------------------------


def _split_ties(F: Any, g: Any, chosen: Any, tied: Any) -> Any:
    """Return the gradient of one argument of `maximum`: `g` where that one is larger or either is NaN, `g / 2` at a tie."""
    return F.masked(g, chosen) + F.masked(g * 0.5, tied)


def refuse_complex(name: str) -> Callable[..., None]:
    """Return a check that raises an error for complex tensors, which have no order."""
    return refusing(dtypes.COMPLEX, f"{name} not implemented for complex tensors.")


maximum = op(
    "maximum", lambda xp, input, other: xp.maximum(input, other),
    kind=Kind.POINTWISE, rounds_once=True, promote="arithmetic", scalars=False, dtypes="real",
    check=refuse_complex("maximum"),
    doc="""Return the larger of `input` and `other`, element by element; NaN where either is NaN.

    Args:
        other: a tensor that can be broadcast with `input`.

    >>> torch.maximum(torch.tensor([1, 5]), torch.tensor([3, 2]))
    tensor([3, 5])
    """,
    input=lambda F, g, input, other: _split_ties(F, g, ~(input <= other), input == other),
    other=lambda F, g, input, other: _split_ties(F, g, ~(other <= input), input == other),
)  # fmt: skip
minimum = op(
    "minimum", lambda xp, input, other: xp.minimum(input, other),
    kind=Kind.POINTWISE, rounds_once=True, promote="arithmetic", scalars=False, dtypes="real",
    check=refuse_complex("minimum"),
    doc="""Return the smaller of `input` and `other`, element by element; NaN where either is NaN.

    Args:
        other: a tensor that can be broadcast with `input`.

    >>> torch.minimum(torch.tensor([1, 5]), torch.tensor([3, 2]))
    tensor([1, 2])
    """,
    input=lambda F, g, input, other: _split_ties(F, g, ~(input >= other), input == other),
    other=lambda F, g, input, other: _split_ties(F, g, ~(other >= input), input == other),
)  # fmt: skip

masked = op(
    "masked", lambda xp, input, mask, of=None: xp.where(mask, input, 0),
    kind=Kind.POINTWISE, keeps_dtype=("mask", "of"), public=False, method=False,
    doc="Return the elements where `mask` is True, else 0: the gradient of a choice.  The derivative by `of`, the tensor "
    "from which the mask was computed, is zero.",
    input=lambda F, g, mask, of: F.masked(g, mask, of),
    of=lambda F, g, of_shape: F.zeros_of(g, of_shape),
)  # fmt: skip


def _check_choices(condition: Any, *choices: Any) -> None:
    """Raise an error for a Python number outside the range of the result's dtype.

    Floating-point dtypes of at most 16 bits accept any number: it becomes infinite if it is too large.
    """
    for choice in choices:
        if not isinstance(choice, Tensor):
            converted(choice, result_dtype(choices), alone=True)


_where = op(
    "where", lambda xp, condition, input, other: xp.where(condition, input, other),
    kind=Kind.POINTWISE, narrow=Narrow.ALL,
    promote="arithmetic", keeps_dtype=("condition",), public=False, method=False, check=_check_choices,
    input=lambda F, g, condition: F.masked(g, condition),
    other=lambda F, g, condition: F.masked(g, ~condition),
    schema=(
        "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
        "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
        "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
        "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
        "where(Tensor condition) -> Tensor[]",
    ),
)  # fmt: skip


def _where_or_nonzero(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    require_tensors("where", condition=condition)
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        kind = type(other if input is None else input).__name__
        raise TypeError(
            f"where() received an invalid combination of arguments - got (Tensor, {kind}); it takes the condition "
            "alone, or the condition and two choices"
        )
    if condition.dtype is dtypes.uint8:
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version "
            "of PyTorch. Use a boolean condition instead."
        )
        condition = condition.bool()
    if condition.dtype is not dtypes.bool_:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}")
    return _where(condition, input, other)


@composite(method=False, out=Out.OWN_DTYPE)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Select `input` where `condition` holds, else `other`; with the condition alone, return its nonzero indices.

    Args:
        condition: a bool tensor.
        input, other: tensors that can be broadcast with `condition`, or numbers; None for both to return indices.

    Raises:
        RuntimeError: `condition` has another dtype.

    >>> torch.where(torch.tensor([True, False]), 1.0, 0.0)
    tensor([1., 0.])
    """
    return _where_or_nonzero(condition, input, other)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Select `self` where `condition` holds, else `other`.

    Args:
        condition: a bool tensor that can be broadcast with `self`.
        other: a tensor that can be broadcast with `self`, or a number.

    >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), 0)
    tensor([1, 0])
    """
    result: Tensor = _where_or_nonzero(condition, self, other)
    return result


attach(where=as_method(_where_method))


# --- clamping -----------------------------------------------------------------------------------------------------


def _clamp_forward(xp: Any, input: Any, /, min: Any = None, max: Any = None) -> Any:
    clamped = input if min is None else xp.maximum(input, xp.asarray(min, dtype=input.dtype))
    return clamped if max is None else xp.minimum(clamped, xp.asarray(max, dtype=input.dtype))


def _clamp_grad(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    if min is not None and max is not None:
        return F.masked(g, (input >= min) & (input <= max))
    return F.masked(g, input >= min if max is None else input <= max)


_clamp = op(
    "clamp", _clamp_forward,
    kind=Kind.POINTWISE, dtypes="real numbers", public=False, method=False, grad_fn="ClampBackward1",
    input=_clamp_grad,
    schema=(
        "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
        "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    ),
)  # fmt: skip


def _between_forward(xp: Any, input: Any, min: Any = None, max: Any = None) -> Any:
    clamped = input if min is None else xp.maximum(input, min)
    return clamped if max is None else xp.minimum(clamped, max)


def _clamp_min_grad(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    return F.masked(g, input < min if max is None else (input < min) & (min < max))


def _clamp_max_grad(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    return F.masked(g, input > max if min is None else (input > max) | (min > max))


_clamp_between = op(
    "clamp_between", _between_forward,
    kind=Kind.POINTWISE, dtypes="real", promote="arithmetic", scalars=False, public=False,
    method=False, out=False, grad_fn="ClampBackward0", operator="clamp",
    input=_clamp_grad, min=_clamp_min_grad, max=_clamp_max_grad,
)  # fmt: skip


def _is_safe_bound(key: DispatchKey, bound: Any) -> bool:
    """Whether `bound` is None or a number within float32's range that does not change the tensor's dtype."""
    return bound is None or (type(bound) in key.constant_types and -LARGEST_SINGLE <= bound <= LARGEST_SINGLE)


@composite(inplace=True, out=Out.OWN_DTYPE, aliases=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit every element to `[min, max]`; either bound may be a number, a tensor or None.

    Args:
        input: a tensor of an integer or floating-point dtype.
        min, max: the bounds: numbers, or tensors that can be broadcast with `input`; None for no bound. At least one is given.
            Where `min` exceeds `max`, the result is `max`.
        out: a tensor that the result is written to.

    >>> torch.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    key = input._key
    if key.dtype.category == dtypes.FLOATING and _is_safe_bound(key, min) and _is_safe_bound(key, max):
        return _clamp(input, min, max)
    operands = [operand for operand in (input, min, max) if operand is not None]
    if any(
        isinstance(operand, complex) or (isinstance(operand, Tensor) and operand.dtype.category == dtypes.COMPLEX)
        for operand in operands
    ):
        raise NotImplementedError("clamp is not supported for complex types")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if all(bound is None or isinstance(bound, Tensor) for bound in (min, max)):
            if min is not None and max is not None and result_dtype((input, min, max)) is dtypes.bool_:
                # a single bound is accepted: it is computed by `maximum` or `minimum`, which support bool
                raise NotImplementedError("\"clamp_cpu\" not implemented for 'Bool'")
            return _clamp_between(input, min, max)
        if any(isinstance(bound, Tensor) and bound.ndim for bound in (min, max)):
            named = ", ".join(type(argument).__name__ for argument in (input, min, max))
            raise TypeError(
                f"clamp() received an invalid combination of arguments - got ({named}): the bounds must both be "
                "Tensors, or both numbers"
            )
        min, max = (bound.item() if isinstance(bound, Tensor) else bound for bound in (min, max))
    bounds = [bound for bound in (min, max) if bound is not None]
    require_operands("clamp", **{name: bound for name, bound in (("min", min), ("max", max)) if bound is not None})
    if not all(type(bound) in input._key.scalars for bound in bounds):
        input = input.to(result_dtype((input, *bounds)))
    min, max = (bound if bound is None else converted(bound, input.dtype) for bound in (min, max))
    return _clamp(input, min, max)


@composite(
    inplace=True,
    out=Out.OWN_DTYPE,
    kind=Kind.POINTWISE,
    schema=("clamp_min(Tensor self, Scalar min) -> Tensor", "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor"),
)
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Raise every element to at least `min`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        min: the bound: a number, or a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.clamp_min(torch.tensor([-1.0, 0.5, 2.0]), 0)
    tensor([0.0000, 0.5000, 2.0000])
    """
    require_operands("clamp_min", min=min)
    return rename_node(clamp(input, min=min), f"ClampMinBackward{int(isinstance(min, Tensor))}")


@composite(
    inplace=True,
    out=Out.OWN_DTYPE,
    kind=Kind.POINTWISE,
    schema=("clamp_max(Tensor self, Scalar max) -> Tensor", "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor"),
)
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Lower every element to at most `max`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        max: the bound: a number, or a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.clamp_max(torch.tensor([-1.0, 0.5, 2.0]), 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    require_operands("clamp_max", max=max)
    return rename_node(clamp(input, max=max), f"ClampMaxBackward{int(isinstance(max, Tensor))}")


# --- logic and bits -----------------------------------------------------------------------------------------------


def _as_bool(xp: Any, array: Any) -> Any:
    return array if array.dtype == xp.bool else array != 0


def _logical(name: str, forward: Any, example: str) -> Callable[..., Tensor]:
    return op(
        name,
        forward,
        kind=Kind.POINTWISE,
        promote="compare",
        scalars=False,
        inplace=True,
        doc=f"""Return the {name.replace("_", " ")} of both operands; a nonzero element is true.

    Args:
        input: a tensor of any shape.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.{name}(torch.tensor([1, 1]), torch.tensor([0, 1]))
    tensor([{example}])
    """,
    )


logical_and = _logical(
    "logical_and", lambda xp, input, other: xp.logical_and(_as_bool(xp, input), _as_bool(xp, other)), "False,  True"
)
logical_or = _logical(
    "logical_or", lambda xp, input, other: xp.logical_or(_as_bool(xp, input), _as_bool(xp, other)), "True, True"
)
logical_xor = _logical(
    "logical_xor", lambda xp, input, other: xp.logical_xor(_as_bool(xp, input), _as_bool(xp, other)), " True, False"
)
logical_not = op(
    "logical_not", lambda xp, input: xp.logical_not(_as_bool(xp, input)),
    kind=Kind.POINTWISE, promote="bool", inplace=True,
    doc="Return True where the element is 0.",
)  # fmt: skip


def _bits(name: str, forward: Any, operator: str, summary: str, example: int, accepts: str = "whole") -> Callable[..., Tensor]:
    dunders = (f"__{operator}__", f"__r{operator}__", f"__i{operator}__")
    number = "Tensor_Scalar" if operator.endswith("shift") else "Scalar"
    schema = (
        f"{name}.{number}(Tensor self, Scalar other) -> Tensor",
        f"{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
        f"{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"{name}_.{number}(Tensor(a!) self, Scalar other) -> Tensor(a!)",
        f"{name}_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    )
    doc = f"""{summary}

    Args:
        input: {"an integer tensor" if accepts == "integers" else "a tensor of an integer dtype or bool"}, or a number.
        other: a tensor that can be broadcast with `input`, or a number; one of both is a tensor.
        out: a tensor that the result is written to.

    >>> torch.{name}(torch.tensor([7]), 2)
    tensor([{example}])
    """
    return op(
        name, forward, kind=Kind.POINTWISE, promote="arithmetic", dtypes=accepts, inplace=True, dunders=dunders, doc=doc,
        schema=schema,
    )  # fmt: skip


bitwise_and = _bits(
    "bitwise_and",
    lambda xp, input, other: xp.bitwise_and(input, other),
    "and",
    "Return the bits that are set in both operands.",
    2,
)
bitwise_or = _bits(
    "bitwise_or", lambda xp, input, other: xp.bitwise_or(input, other), "or", "Return the bits that are set in either operand.", 7
)
bitwise_xor = _bits(
    "bitwise_xor",
    lambda xp, input, other: xp.bitwise_xor(input, other),
    "xor",
    "Return the bits that are set in exactly one operand.",
    5,
)
bitwise_left_shift = _bits(
    "bitwise_left_shift",
    lambda xp, input, other: xp.bitwise_left_shift(input, other),
    "lshift",
    "Return `input << other`, element by element.",
    28,
    accepts="integers",
)
bitwise_right_shift = _bits(
    "bitwise_right_shift",
    lambda xp, input, other: xp.bitwise_right_shift(input, other),
    "rshift",
    "Return `input >> other`, element by element.",
    1,
    accepts="integers",
)
bitwise_not = op(
    "bitwise_not", lambda xp, input: xp.bitwise_invert(input),
    kind=Kind.POINTWISE, out=Out.OWN_DTYPE, dtypes="whole", inplace=True,
    doc="Invert every bit; for bool, the logical not.",
)  # fmt: skip


@declare("bitwise_not", operators=("__invert__",))
def _invert(self: Tensor) -> Tensor:
    """Return `~self`, which is `bitwise_not`.  Raises TypeError unless the dtype is integer or bool."""
    if self._key.dtype.category >= dtypes.FLOATING:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


_invert.__name__ = "__invert__"
attach(__invert__=_invert)


# --- comparisons of whole tensors ---------------------------------------------------------------------------------


@composite(kind=Kind.REDUCTION, single_operator=True, returns_bool=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements.

    Args:
        input, other: the tensors; their dtypes may differ.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2])), torch.equal(torch.ones(2), torch.ones(1, 2))
    (True, False)
    """
    require_tensors("equal", input=input, other=other)
    require_data("equal", input, other)
    if input.shape != other.shape:
        return False
    return bool((input == other).all())


@composite(kind=Kind.POINTWISE)
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """True where `|input - other| <= atol + rtol * |other|`, element by element.

    Args:
        input, other: tensors of the same dtype whose shapes can be broadcast.
        rtol: the relative tolerance, multiplied by `|other|`.
        atol: the absolute tolerance.
        equal_nan: whether two NaN are close.

    Raises:
        RuntimeError: the dtypes differ, or a tolerance is negative.

    >>> torch.isclose(torch.tensor([1.0, torch.nan]), torch.tensor([1.0 + 1e-7, torch.nan]))
    tensor([ True, False])
    """
    require_tensors("isclose", input=input, other=other)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.legacy_name} did not match {other.dtype.legacy_name}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = input == other
    if input.dtype.category >= dtypes.FLOATING:
        if equal_nan:
            close = close | (input.isnan() & other.isnan())
    elif rtol == 0 and atol == 0:
        return close
    if input.dtype.category < dtypes.FLOATING:  # differences of integers could overflow
        input, other = input.to(dtypes.get_default_dtype()), other.to(dtypes.get_default_dtype())
    error = (input - other).abs()
    return close | (error.isfinite() & (error <= atol + (rtol * other).abs()))


@composite(kind=Kind.REDUCTION, single_operator=True, returns_bool=True)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as in `isclose`.

    Args:
        input, other: tensors of the same dtype whose shapes can be broadcast.
        rtol: the relative tolerance, multiplied by `|other|`.
        atol: the absolute tolerance.
        equal_nan: whether two NaN are close.

    Raises:
        RuntimeError: the dtypes differ, or a tolerance is negative.

    >>> torch.allclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


# --- maximum and minimum, ignoring NaN -------------------------------------------------------------------------------


def _ignoring_nan(name: str, preferred: str, other_name: str) -> Any:
    def forward(xp: Any, input: Any, other: Any) -> Any:
        extreme = getattr(xp, preferred)(input, other)
        return xp.where(input != input, other, xp.where(other != other, input, extreme))

    def takes_input(input: Any, other: Any) -> Any:
        return (input >= other if name == "fmax" else input <= other) | (other != other)

    return op(
        name,
        forward,
        kind=Kind.POINTWISE,
        rounds_once=True,
        promote="arithmetic",
        scalars=False,
        dtypes="real",
        check=refuse_complex(name),
        doc=f"""Return the {other_name} of `input` and `other`, element by element; where one is NaN, the other one.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.{name}(torch.tensor([1.0, torch.nan]), torch.tensor([3.0, 2.0]))
    tensor([{3 if name == "fmax" else 1}., 2.])
    """,
        input=lambda F, g, input, other: F.masked(g, takes_input(input, other)),
        other=lambda F, g, input, other: F.masked(g, ~takes_input(input, other)),
    )


fmax, fmin = _ignoring_nan("fmax", "maximum", "larger"), _ignoring_nan("fmin", "minimum", "smaller")
