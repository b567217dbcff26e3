"""Functions of one and two numbers beyond arithmetic: angles, signs, divisors, logarithms of sums, parts of floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..engine.calls import overriding
from ..engine.calls.dispatch import require_tensors
from ..engine.calls.named_results import make
from ..engine.calls.op import composite, op
from ..engine.calls.record import Out
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .comparison import refuse_complex
from .formula import no_slope
from .precision import in_double

__all__: list[str] = []

# --- angles -------------------------------------------------------------------------------------------------------

atan2 = op(
    "atan2", lambda xp, input, other: xp.atan2(input, other), promote="float", scalars=False, inplace=True, aliases=("arctan2",),
    doc="""The angle, in radians, of the point with ordinate `input` and abscissa `other`, in its quadrant.

    >>> import flambeau as torch
    >>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([1.0, -1.0]))
    tensor([ 0.7854, -2.3562])
    """,
    input=lambda F, g, input, other: g * other / _square_of_hypot(F, input, other),
    other=lambda F, g, input, other: -g * input / _square_of_hypot(F, input, other),
)  # fmt: skip


def _square_of_hypot(F: Any, input: Any, other: Any) -> Any:
    square = input * input + other * other
    return F.where(square == 0, 1.0, square)


hypot = op(
    "hypot", lambda xp, input, other: xp.hypot(input, other), promote="arithmetic", scalars=False, dtypes="floating",
    inplace=True,
    doc="`sqrt(input**2 + other**2)`, without overflow on the way.",
    input=lambda F, g, input, out: g * (input / out),
    other=lambda F, g, other, out: g * (other / out),
)  # fmt: skip


def _refuse_complex(name: str, input: Tensor) -> None:
    if input._key.dtype.category == dtypes.COMPLEX:
        raise RuntimeError(f"{name} is not supported for complex tensors.")


@composite(inplace=True, out=True, grad_fn="Deg2RadBackward0")
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""
    _refuse_complex("deg2rad", input)
    return input * (math.pi / 180)


@composite(inplace=True, out=True, grad_fn="Rad2DegBackward0")
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""
    _refuse_complex("rad2deg", input)
    return input * (180 / math.pi)


def _sinc_forward(xp: Any, input: Any) -> Any:
    return (_sinc if xp.isdtype(input.dtype, "complex floating") else _accurate_sinc)(xp, input)


def _sinc(xp: Any, input: Any) -> Any:
    angle = xp.where(input == 0, xp.ones_like(input), input * math.pi)
    return xp.where(input == 0, xp.ones_like(input), xp.sin(angle) / angle)


_accurate_sinc = in_double(_sinc)


def _sinc_grad(F: Any, g: Any, input: Any) -> Any:
    safe = F.where(input == 0, 1.0, input)
    return g * F.conj(F.where(input == 0, 0.0, (F.cos(safe * math.pi) - F.sinc(input)) / safe))


sinc = op(
    "sinc", lambda xp, input: _sinc_forward(xp, input), promote="float", inplace=True, doc="`sin(pi x) / (pi x)`; 1 at 0.",
    input=_sinc_grad,
)  # fmt: skip

# --- signs and neighbours -----------------------------------------------------------------------------------------

copysign = op(
    "copysign", lambda xp, input, other: xp.copysign(input, other), promote="float", scalars=("other",), dtypes="real",
    inplace=True,
    doc="The absolute value of `input` with the sign of `other`, minus zero's included.",
    input=lambda F, g, input, out: g * F.where(input == 0, 0.0, out / F.where(input == 0, 1.0, input)),
    other=no_slope,
)  # fmt: skip
nextafter = op(
    "nextafter", lambda xp, input, other: xp.nextafter(input, other), promote="arithmetic", scalars=False,
    dtypes="floating", inplace=True,
    doc="The next number that the dtype can hold, from `input` towards `other`.",
    input=lambda F, g: g,
    other=no_slope,
)  # fmt: skip


def _infinite(name: str, sign: int) -> Any:
    def forward(xp: Any, input: Any) -> Any:
        return input == sign * math.inf if xp.isdtype(input.dtype, "real floating") else xp.zeros_like(input, dtype=xp.bool)

    record = op(f"{name}_real", forward, promote="bool", public=False, method=False)

    def function(input: Tensor) -> Tensor:
        if input._key.dtype.category == dtypes.COMPLEX:
            raise RuntimeError(f"{name} does not support complex inputs.")
        return record(input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Where the element is {'minus' if sign < 0 else 'plus'} infinity."
    return composite(out=Out.OWN_DTYPE)(function)


isneginf, isposinf = _infinite("isneginf", -1), _infinite("isposinf", 1)

_heaviside = op(
    "heaviside", lambda xp, input, values: xp.where(input == 0, values, xp.astype(input > 0, input.dtype)),
    promote="arithmetic", public=False, method=False,
)  # fmt: skip


@composite(inplace=True, out=Out.OWN_DTYPE | Out.RECORDED)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below zero, 1 above, `values` at zero.

    >>> import flambeau as torch
    >>> torch.heaviside(torch.tensor([-1.5, 0.0, 2.0]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    require_tensors("heaviside", input=input, values=values)
    if input.is_complex() or values.is_complex():
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return _heaviside(input, values)


# --- maximum and minimum, ignoring NaN ----------------------------------------------------------------------------


def _ignoring_nan(name: str, preferred: str, other_name: str) -> Any:
    def forward(xp: Any, input: Any, other: Any) -> Any:
        extreme = getattr(xp, preferred)(input, other)
        return xp.where(input != input, other, xp.where(other != other, input, extreme))

    def takes_input(input: Any, other: Any) -> Any:
        return (input >= other if name == "fmax" else input <= other) | (other != other)

    return op(
        name,
        forward,
        promote="arithmetic",
        scalars=False,
        dtypes="real",
        check=refuse_complex(name),
        doc=f"The {other_name} of the two, element by element; where one is NaN, the other.",
        input=lambda F, g, input, other: F.masked(g, takes_input(input, other)),
        other=lambda F, g, input, other: F.masked(g, ~takes_input(input, other)),
    )


fmax, fmin = _ignoring_nan("fmax", "maximum", "larger"), _ignoring_nan("fmin", "minimum", "smaller")

# --- integers -----------------------------------------------------------------------------------------------------


def _gcd_forward(xp: Any, input: Any, other: Any) -> Any:
    a, b = xp.broadcast_arrays(xp.abs(input), xp.abs(other))
    while xp.any(b != 0):
        a, b = xp.where(b == 0, a, b), xp.where(b == 0, b, xp.remainder(a, xp.where(b == 0, 1, b)))
    return a


def _lcm_forward(xp: Any, input: Any, other: Any) -> Any:
    divisor = _gcd_forward(xp, input, other)
    return xp.abs(input // xp.where(divisor == 0, 1, divisor) * other)


gcd = op(
    "gcd", lambda xp, input, other: _gcd_forward(xp, input, other), promote="arithmetic", scalars=False, dtypes="integers",
    inplace=True, doc="The greatest common divisor of integers; that of 0 and 0 is 0.",
)  # fmt: skip
lcm = op(
    "lcm", lambda xp, input, other: _lcm_forward(xp, input, other), promote="arithmetic", scalars=False, dtypes="integers",
    inplace=True, doc="The least common multiple of integers; 0 where either is 0.",
)  # fmt: skip

# --- logarithms ---------------------------------------------------------------------------------------------------


def logaddexp_forward(xp: Any, input: Any, other: Any) -> Any:
    if not xp.isdtype(input.dtype, "complex floating"):
        return xp.logaddexp(input, other)
    first = xp.real(input) >= xp.real(other)
    larger, smaller = xp.where(first, input, other), xp.where(first, other, input)
    return larger + xp.log1p(xp.exp(smaller - larger))


def _logaddexp2_forward(xp: Any, input: Any, other: Any) -> Any:
    return xp.logaddexp(input * math.log(2), other * math.log(2)) / math.log(2)


logaddexp = op(
    "logaddexp", lambda xp, input, other: logaddexp_forward(xp, input, other), promote="float", scalars=False, dtypes="inexact",
    doc="""`log(exp(input) + exp(other))`, without overflow on the way.

    >>> import flambeau as torch
    >>> torch.logaddexp(torch.tensor([0.0, 1000.0]), torch.tensor([0.0, 0.0]))
    tensor([6.9315e-01, 1.0000e+03])
    """,
    input=lambda F, g, input, other: g / F.conj(1 + F.exp(other - input)),
    other=lambda F, g, input, other: g / F.conj(1 + F.exp(input - other)),
)  # fmt: skip
logaddexp2 = op(
    "logaddexp2", _logaddexp2_forward, promote="float", scalars=False, dtypes="inexact",
    doc="`log2(2**input + 2**other)`, without overflow on the way.",
    input=lambda F, g, input, other: g / (1 + F.exp2(other - input)),
    other=lambda F, g, input, other: g / (1 + F.exp2(input - other)),
)  # fmt: skip


def _product_with(log: str) -> Callable[..., Any]:
    def forward(xp: Any, input: Any, other: Any) -> Any:
        zero = (input == 0) & (other == other)
        return xp.where(zero, 0.0, input * getattr(xp, log)(xp.where(zero, 1.0, other)))

    return forward


xlogy = op(
    "xlogy", _product_with("log"), promote="float", dtypes="real", inplace=True,
    doc="""`input * log(other)`, and 0 where `input` is 0, unless `other` is NaN.

    >>> import flambeau as torch
    >>> torch.xlogy(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """,
    input=lambda F, g, input, other: (
        F.masked(g, (input != 0) | (other > 0)) * F.log(F.where((input == 0) & (other <= 0), 1.0, other))),
    other=lambda F, g, input, other: g * input / other,
)  # fmt: skip
xlog1py = op(
    "special_xlog1py", _product_with("log1p"), promote="float", dtypes="real", public=False, method=False,
    doc="`input * log1p(other)`, and 0 where `input` is 0, unless `other` is NaN.",
    input=lambda F, g, input, other: (
        F.masked(g, (input != 0) | (other > -1)) * F.log1p(F.where((input == 0) & (other <= -1), 0.0, other))),
    other=lambda F, g, input, other: g * input / (other + 1),
)  # fmt: skip


@in_double
def _log_odds(xp: Any, input: Any) -> Any:
    return xp.log(input / (1 - input))


def _logit_forward(xp: Any, input: Any, /, eps: float | None = None) -> Any:
    return _log_odds(xp, input if eps is None else xp.clip(input, eps, 1 - eps))


def _logit_grad(F: Any, g: Any, input: Any, eps: float | None) -> Any:
    low = 0.0 if eps is None else eps
    outside = (input < low) | (input > 1 - low)
    value = math.nan if eps is None else 0.0
    return F.where(outside, value, g / F.where(outside, 1.0, input * (1 - input)))


logit = op(
    "logit", _logit_forward, promote="float", dtypes="real", inplace=True,
    doc="""`log(x / (1 - x))`, the inverse of sigmoid; with `eps`, of the element clamped to `[eps, 1 - eps]`.

    >>> import flambeau as torch
    >>> torch.logit(torch.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """,
    input=_logit_grad,
)  # fmt: skip

# --- the parts of floating-point numbers --------------------------------------------------------------------------


def _frexp_forward(xp: Any, input: Any) -> Any:
    ordinary = xp.isfinite(input) & (input != 0)
    size = xp.where(ordinary, xp.abs(input), 0.5)
    exponent = xp.floor(xp.log2(size)) + 1
    mantissa = size * xp.pow(2.0, -xp.floor(exponent / 2)) * xp.pow(2.0, -xp.ceil(exponent / 2))  # one power alone may overflow
    exponent = xp.where(mantissa >= 1, exponent + 1, xp.where(mantissa < 0.5, exponent - 1, exponent))
    mantissa = xp.where(mantissa >= 1, mantissa / 2, xp.where(mantissa < 0.5, mantissa * 2, mantissa))
    return xp.where(ordinary, xp.copysign(mantissa, input), input), exponent


_frexp = op(
    "frexp", _frexp_forward, results=("mantissa", "exponent"), out=False, public=False, method=False,
    vjp=lambda F, g, exponent: (g[0] / F.exp2(exponent),),
)  # fmt: skip


@composite(out=Out.OWN_DTYPE)
def frexp(input: Tensor) -> Any:
    """A mantissa, of size in [0.5, 1), and an int32 exponent of 2, with `mantissa * 2**exponent == input`.

    >>> import flambeau as torch
    >>> mantissa, exponent = torch.frexp(torch.tensor([6.0]))
    >>> mantissa, exponent
    (tensor([0.7500]), tensor([3], dtype=torch.int32))
    """
    if input._key.dtype.category != dtypes.FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = _frexp(input)
    return _FREXP((mantissa, exponent.to(dtypes.int32)))


_FREXP = make("frexp", ("mantissa", "exponent"))


@composite(inplace=True, out=True, grad_fn="LdexpBackward0")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """`input * 2**other`."""
    require_tensors("ldexp", input=input, other=other)
    if other.dtype.category < dtypes.FLOATING:
        other = other.to(input.dtype if input.dtype.category >= dtypes.FLOATING else dtypes.get_default_dtype())
    return input * 2.0**other


# --- Python functions, element by element -------------------------------------------------------------------------


def _apply(name: str, others: int) -> None:
    def method(self: Tensor, *args: Any) -> Tensor:
        *tensors, function = args
        if overriding.may_override(tensors):
            return overriding.handle_torch_function(method, (self, *tensors), self, *args)  # type: ignore[no-any-return]  # an override may return anything
        if len(tensors) != others:
            raise TypeError(f"{name}() takes {others} tensor(s) and a callable, but {len(args)} argument(s) were given")
        for tensor in (self, *tensors):
            if tensor.requires_grad:
                raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
            if tensor.device.type != "cpu":
                raise TypeError(f"{name} is only implemented on CPU tensors")
        rows = [tensor.expand(self.shape).reshape(-1).tolist() for tensor in (self, *tensors)]
        values = [function(*arguments) for arguments in zip(*rows, strict=True)]
        return self.copy_(self.new_tensor(values).reshape(self.shape))

    method.__name__ = method.__qualname__ = name
    expression = {0: "f(x)", 1: "f(x, y)", 2: "f(x, y, z)"}[others]
    where = " of it and its like in the other tensors" if others else ""
    method.__doc__ = f"Replace each element by `{expression}`, a Python function{where}."
    setattr(Tensor, name, method)


for _name, _others in (("apply_", 0), ("map_", 1), ("map2_", 2)):
    _apply(_name, _others)
